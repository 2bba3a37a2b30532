"""Files in the JSON of a request, in base64: beside their media type, or in `data:` URLs. Source: RFC 2397."""

from binascii import Error as Base64Error
from binascii import a2b_base64
from dataclasses import dataclass, field

from shared.core.attachments import Attachment
from shared.errors import BadRequest
from shared.wire.multipart import shown_filename, shown_name


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file that was in JSON."""

    media_type: str
    """In lower case, without parameters; empty if not given."""
    charset: str | None
    """The character set; None if not given."""
    content: bytes = field(repr=False)
    """Never empty."""

    @classmethod
    def decode(cls, media_type: str, data: str, problem: str) -> "JsonFile":
        """Decode a file.

        Args:
            media_type: Its media type, with parameters.
            data: The file in base64.
            problem: The error message for the caller.

        Raises:
            BadRequest: it is not in base64, or empty.
        """
        try:
            content = a2b_base64(data.encode("ascii"), strict_mode=True)
        except (Base64Error, UnicodeEncodeError):
            content = b""
        if not content:
            raise BadRequest(problem)
        kind, *parameters = media_type.lower().replace(" ", "").split(";")
        charsets = (one.removeprefix("charset=") for one in parameters if one.startswith("charset="))
        return cls(kind, next(charsets, None), content)

    @classmethod
    def from_url(cls, url: str, part: str, what: str) -> "JsonFile":
        """Decode a `data:` URL.

        Args:
            url: The URL.
            part: Its place in the body, for the error message.
            what: What it has to hold, for the error message.

        Raises:
            BadRequest: it is no `data:` URL in base64, or an empty one.
        """
        if not url.startswith("data:"):
            raise BadRequest(f"{part}: should be a data: URL with {what}; nothing is fetched from elsewhere.")
        head, _, data = url.removeprefix("data:").partition(",")
        problem = f"{part}: should be a data: URL with {what} in base64."
        if "base64" not in head.lower().split(";")[1:]:
            raise BadRequest(problem)
        return cls.decode(head, data, problem)

    def attachment(self, part: str, message: int, index: int, filename: str, declared: str = "") -> Attachment:
        """Make the attachment of a message.

        Args:
            part: The file's place in the body.
            message: The index of its message, from 0.
            index: Its number among the files of that message, from 0.
            filename: Its name; empty if not given.
            declared: Its media type, if the body has it beside the file.
        """
        kind = shown_name(declared or self.media_type)
        return Attachment(part, message, index, shown_filename(filename), kind, self.charset, self.content)
