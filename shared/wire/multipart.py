"""Reads a request with files: a form with the JSON body and the files of its messages.

Source: `@microsoft/ai-chat-protocol`, which sends a part `json` and parts `messages[i].files[j]`; RFC 7578.
"""

import logging
import re
from typing import TYPE_CHECKING

import msgspec

from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge
from shared.wire.message_parts import MOST_FILES, shown_filename, shown_name
from shared.wire.request_body import BODY_LIMIT, EXAMPLE, Body, read_json_object

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

# The library warns of each malformed form, so any caller could fill the log. The caller gets the error instead.
logging.getLogger("python_multipart").setLevel(logging.ERROR)

FORM_LIMIT = 20 * 1024 * 1024
"""Maximum size of the whole form, in bytes. It is held in memory until its files are read."""
FILE_LIMIT = 10 * 1024 * 1024
"""Maximum size of one file, in bytes."""

FILE_PART = re.compile(r"messages\[(0|[1-9][0-9]{0,3})\]\.files\[(0|[1-9][0-9]{0,3})\]")
"""Name of a part that is a file, with the index of its message and its index among the files of the message."""


def is_form(content_type: str) -> bool:
    """Whether the content type is any `multipart/` type; `FormReader` checks whether it is valid."""
    return content_type.strip().lower().startswith("multipart/")


class _Part(msgspec.Struct):
    """The part of the form that is being read."""

    headers: dict[str, bytes] = msgspec.field(default_factory=dict[str, bytes])
    name: str = ""
    filename: str = ""
    limit: int = 0
    data: bytearray = msgspec.field(default_factory=bytearray)


class FormReader:
    """Reads a form in chunks, and refuses it at the first byte that is not allowed. Sans-I/O.

    Args:
        content_type: The request's header.

    Raises:
        BadRequest: the header names no boundary.
    """

    def __init__(self, content_type: str, form: "_Form | None" = None) -> None:
        from python_multipart.exceptions import FormParserError
        from python_multipart.multipart import MultipartParser, parse_options_header

        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data":
            raise BadRequest("Requests with files are multipart/form-data: set that content-type.")
        if not (boundary := options.get(b"boundary")):
            raise BadRequest("The content-type names no boundary: let your HTTP client set the header.")
        self._form = form or _Form()
        self._fault = FormParserError
        try:
            self._parser = MultipartParser(boundary, self._form.callbacks())
        except FormParserError:
            raise BadRequest("The boundary in the content-type is too long: at most 70 characters.") from None
        self._read = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            BadRequest: the form is malformed, or has a part that is not allowed.
            TooLarge: the form, a part or the number of files is over a limit.
        """
        self._read += len(chunk)
        if self._read > FORM_LIMIT:
            raise TooLarge(f"The request is over {FORM_LIMIT:,} bytes. Send fewer or smaller files.")
        try:
            self._parser.write(chunk)
        except self._fault:
            count = self._form.count
            where = f"in part {count}" if count else "before its first part"
            raise BadRequest(
                f"The multipart body is malformed {where}. Check its boundary, and that its lines end in CRLF."
            ) from None

    def finish(self) -> Body:
        """Return the body after its last bytes.

        Raises:
            BadRequest: the form is not complete, or what it has to hold is missing or cannot be read.
        """
        if self._read and not self._form.is_complete:
            raise BadRequest("The multipart body ends before its closing boundary: it was cut off. Send it again.")
        return self._form.whole()


class _Form:
    """What the parser has found. It does not know the parser, so that no reference cycle keeps files in memory."""

    def __init__(self) -> None:
        self.count = 0
        self.body: bytes | None = None
        self.files: dict[str, Attachment] = {}
        self.is_complete = False
        self._part = _Part()
        self._header = (bytearray(), bytearray())

    def callbacks(self) -> "MultipartCallbacks":
        """Return the methods that the parser calls."""
        return {
            "on_part_begin": self._begin_part,
            "on_header_begin": self._begin_header,
            "on_header_field": self._read_header_name,
            "on_header_value": self._read_header_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._read_data,
            "on_part_end": self._end_part,
            "on_end": self._end,
        }

    def whole(self) -> Body:
        """Return what a form holds whose end was read; one that is not complete is empty."""
        if not self.is_complete:
            raise BadRequest(f"The request has no body. Send a part named 'json' that holds JSON such as {EXAMPLE}.")
        if self.body is None:
            raise BadRequest(f"There is no part named 'json'. Send one that holds JSON such as {EXAMPLE}.")
        return Body(read_json_object(self.body), tuple(self.files.values()))

    def _begin_part(self) -> None:
        self.count += 1
        self._part = _Part()

    def _begin_header(self) -> None:
        self._header = (bytearray(), bytearray())

    def _read_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header[0].extend(data[start:end])

    def _read_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header[1].extend(data[start:end])

    def _end_header(self) -> None:
        name, value = self._header
        self._part.headers[name.decode("latin-1").lower()] = bytes(value)

    def _end_headers(self) -> None:
        """Check the headers of a part, so that a part that is not allowed is refused before its data is read."""
        part = self._part
        options = _options(part.headers.get("content-disposition", b""))[1]
        part.name = options.get("name", "")
        if not part.name:
            raise BadRequest(f"Part {self.count} has no name. Name it 'json', or 'messages[0].files[0]' for a file.")
        encoding = part.headers.get("content-transfer-encoding", b"binary").decode("latin-1").strip().lower()
        if encoding not in ("binary", "8bit", "7bit"):
            raise BadRequest(f"The part '{shown_name(part.name)}' has a transfer encoding: send its bytes as they are.")
        if (part.name == "json" and self.body is not None) or part.name in self.files:
            raise BadRequest(f"There are two parts named '{part.name}'.")
        if part.name != "json":
            self._admit_file(part.name)
        part.limit = BODY_LIMIT if part.name == "json" else FILE_LIMIT

    def _admit_file(self, name: str) -> None:
        if not FILE_PART.fullmatch(name):
            raise BadRequest(
                f"There is no place for a part named '{shown_name(name)}': parts are 'json' and, for the files of a "
                "message, 'messages[0].files[0]' and so on."
            )
        if len(self.files) == MOST_FILES:
            raise TooLarge(f"There are more than {MOST_FILES} files. Send fewer.")

    def _read_data(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        if len(part.data) + end - start > part.limit:
            raise TooLarge(f"The part '{part.name}' is over {part.limit:,} bytes. Send a smaller one.")
        part.data += memoryview(data)[start:end]

    def _end_part(self) -> None:
        part = self._part
        data = bytes(part.data)
        self._part = _Part()  # frees the memory of the part's data, which was copied
        if part.name == "json":
            self.body = data
        else:
            self.files[part.name] = _attachment(part, data)

    def _end(self) -> None:
        self.is_complete = True


def file_form_reader(content_type: str) -> FormReader:
    """Make the reader of a form with one file, in a part named `file`, as azure-search-openai-demo's page sends it."""
    return FormReader(content_type, _FileForm())


class _FileForm(_Form):
    def whole(self) -> Body:
        if not self.files:
            raise BadRequest("There is no file: send it in a part named 'file'.")
        return Body({}, tuple(self.files.values()))

    def _end_headers(self) -> None:
        options = _options(self._part.headers.get("content-disposition", b""))[1]
        if options.get("name") != "file" or self.files:
            raise BadRequest("Send one file, in a part named 'file'.")
        if not (filename := options.get("filename", "")):
            raise BadRequest("The file has no name: send its name with it.")
        self._part.name, self._part.filename, self._part.limit = "file", filename, FORM_LIMIT

    def _end_part(self) -> None:
        part, self._part = self._part, _Part()
        if not part.data:
            raise BadRequest("The file is empty.")
        self.files["file"] = Attachment("file", 0, 0, part.filename, "", None, bytes(part.data))


def _attachment(part: _Part, data: bytes) -> Attachment:
    message, index = (int(number) for number in FILE_PART.findall(part.name)[0])
    filename = _options(part.headers.get("content-disposition", b""))[1].get("filename", "")
    media_type, options = _options(part.headers.get("content-type", b""))
    return Attachment(
        part=part.name,
        message=message,
        index=index,
        # In browsers, Microsoft's client sends the name of the part as the name of a file without one.
        filename="" if filename == part.name else shown_filename(filename),
        media_type=shown_name(media_type),
        charset=options.get("charset"),
        data=data,
    )


def _options(header: bytes) -> tuple[str, dict[str, str]]:
    """Split a header into its value and its parameters. Source: RFC 7578, 5.1: names are in UTF-8."""
    from python_multipart.multipart import parse_options_header

    value, options = parse_options_header(header)
    return value.decode("latin-1"), {
        key.decode("latin-1").lower(): option.decode("utf-8", "replace") for key, option in options.items()
    }
