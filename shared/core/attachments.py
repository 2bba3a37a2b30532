"""Prepares the files of a request for the model: images unchanged, other files as text."""

import asyncio
import mimetypes
from collections.abc import Sequence
from copy import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from shared.chat_types import ChatRequest, FileText, ImagePart, Json, Message, Role
from shared.documents.media_types import IMAGE_TYPES, image_type, read_as
from shared.errors import BadRequest, TooLarge
from shared.events import Thought
from shared.runtime.features import require

if TYPE_CHECKING:
    from shared.reading.sandbox import Sandbox

mimetypes.init()  # reads files of the operating system, which the first upload would do on the event loop

LONGEST_TEXT = 100_000
"""Maximum text of all files of a request together, in UTF-8 bytes: some 25,000 tokens. Later messages come first."""
READ_TIMEOUT_SECONDS = 20.0
"""Time limit for reading all files of a request, in seconds."""

_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
_UNKNOWN_TYPES = {"", "application/octet-stream", "binary/octet-stream"}
"""Declared media types that say nothing about the content."""
_CSV_OR_EXCEL = "application/vnd.ms-excel"
"""What browsers on Windows with Excel declare for CSV files too."""
_READABLE = (
    "Send PDF, DOCX, PPTX, XLSX, CSV, EPUB, EML, MSG, RTF, HTML, Markdown or text, or an image: PNG, JPEG, WebP or GIF."
)


class Attachment(msgspec.Struct, frozen=True):
    """A file as it was sent."""

    part: str
    """Name of its part in the request, such as `messages[0].files[1]`."""
    message: int
    """Index of its message, counted from 0."""
    index: int
    """Its index among the files of the message, counted from 0."""
    filename: str
    """File name from the request, without folders; empty if not given."""
    media_type: str
    """Declared media type in lower case, without parameters; empty if not given."""
    charset: str | None
    """Declared character set; None if not given."""
    data: bytes
    """Content of the file."""

    @property
    def name(self) -> str:
        """Name in the prompt. Square brackets are replaced, since they enclose citations."""
        return self.filename.replace("[", "(").replace("]", ")") or f"file {self.index + 1}"

    def __repr__(self) -> str:
        return f"{self.part} ('{self.filename}')" if self.filename else self.part


async def attach(
    request: ChatRequest,
    files: Sequence[Attachment],
    sandbox: "Sandbox",
    *,
    no_images: str | None,
    caller: str = "",
    read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
) -> ChatRequest:
    """Add the files to the messages that they belong to.

    Args:
        request: The conversation.
        files: The files, in any order.
        sandbox: Reads the files.
        no_images: Reason, as a sentence, why images are refused; None if they are accepted.
        caller: Identifies the caller, who may not use all readers.
        read_timeout_seconds: Time limit for reading all files.

    Raises:
        BadRequest: a file does not belong to a user message, or cannot be read; the error names the file and the cause.
        TooLarge: a file is too large, or reading takes too long; the error names the file.
        NotConfigured: what reads files is not deployed.
    """
    messages = list(request.messages)
    room = LONGEST_TEXT
    deadline = asyncio.get_running_loop().time() + read_timeout_seconds
    for file in sorted(files, key=lambda file: (-file.message, file.index)):
        message = _owner(file, messages)
        if media_type := _image_type(file):
            if no_images:
                raise BadRequest(f"{file} is an image. {no_images}")
            images = (*message.images, ImagePart(media_type, file.data))
            messages[file.message] = replace(message, images=images)
            continue
        require("readers")
        text = await _text_of(file, deadline, sandbox, caller)
        fits = text.encode()[:room]
        room -= len(fits)
        kept = fits.decode(errors="ignore")  # drops a character of several bytes that was cut
        attached = FileText(file.name, kept, left_out=len(text) - len(kept))
        messages[file.message] = replace(message, files=(*message.files, attached))
    return replace(request, messages=tuple(messages))


def attached_thoughts(request: ChatRequest) -> list[Thought]:
    """Make the thought that lists the attached files and images; empty if there are none."""
    found: list[Json] = []
    for place, message in enumerate(request.messages):
        found.extend(
            {"message": place, "file": file.name, "characters": len(file.text), "left_out": file.left_out}
            for file in message.files
        )
        found.extend(
            {"message": place, "image": image.media_type, "bytes": len(image.data)} for image in message.images
        )
    return [Thought("Attached files", found)] if found else []


def _owner(file: Attachment, messages: Sequence[Message]) -> Message:
    if file.message >= len(messages):
        raise BadRequest(f"{file} names a message that is not there: the last one is messages[{len(messages) - 1}].")
    message = messages[file.message]
    if message.role is not Role.USER:
        raise BadRequest(f"{file} belongs to a message of the role '{message.role}': files go with the user's.")
    return message


def _image_type(file: Attachment) -> str | None:
    """Return the media type of an image, from its bytes; None for other files.

    Raises BadRequest if the file is empty, or the declared type is not supported or not that of the bytes.
    """
    declared = _ALIASES.get(file.media_type, file.media_type)
    if not file.data:
        raise BadRequest(f"{file} is empty.")
    if declared.startswith("image/") and declared not in IMAGE_TYPES:
        raise BadRequest(f"{file} is of the type '{declared}', which cannot be read. {_READABLE}")
    found = image_type(file.data)
    if declared in _UNKNOWN_TYPES or declared == found:
        return found
    if found or declared in IMAGE_TYPES:
        raise BadRequest(f"{file} is declared as '{declared}', but its bytes are {found or 'no such image'}.")
    return None


async def _text_of(file: Attachment, deadline: float, sandbox: "Sandbox", caller: str) -> str:
    from shared.reading import UnreadableError
    from shared.reading.limits import ReadLimitError
    from shared.reading.readers import with_text

    suffix = _suffix(file)
    try:
        async with asyncio.timeout_at(deadline):
            pages = with_text(await sandbox.of(caller).read(file.data, suffix, file.charset))
    except ReadLimitError as limit:
        raise TooLarge(f"{file} {limit}") from limit
    except UnreadableError as unreadable:
        raise BadRequest(f"{file} {unreadable}") from unreadable
    except TimeoutError:
        raise TooLarge(f"{file} takes too long to read. Send a shorter one.") from None
    return "\n\n".join(f"(page {page.number})\n{page.text}" if page.number else page.text for page in pages)


def _suffix(file: Attachment) -> str:
    """Return the suffix that selects the reader: from the declared type, else from the file name."""
    from shared.reading.readers import OLD_FORMATS, READERS

    named = PurePath(file.filename).suffix.lower()
    declared = file.media_type
    if declared in _UNKNOWN_TYPES:
        declared = mimetypes.guess_type(file.filename)[0] or ""
    if declared == _CSV_OR_EXCEL and named in READERS:
        return named
    if suffix := read_as(declared):
        return suffix
    if declared.startswith("text/") or declared.endswith(("+json", "+xml")):
        return ".txt"
    if named in READERS:
        return named
    if reason := OLD_FORMATS.get(named):
        raise BadRequest(f"{file} {reason}")
    what = f"is of the type '{file.media_type}'" if file.media_type else "has no content-type and no known file name"
    raise BadRequest(f"{file} {what}, which cannot be read. {_READABLE}")
