"""The files of a request: what of them the model sees. Images as they are, of all others the text."""

import asyncio
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from shared.chat_types import ChatRequest, FileText, ImagePart, Json, Message, Role
from shared.documents.media_types import IMAGE_TYPES, image_type
from shared.errors import BadRequest, TooLarge
from shared.events import Thought

if TYPE_CHECKING:
    from shared.reading.sandbox import Sandbox

LONGEST_TEXT = 100_000
"""Bytes of text in UTF-8 that all files of a request may add, the latest message's first: some 25,000 tokens."""
LARGEST_MARKUP = 2 * 1024 * 1024
"""Bytes of a web page or of the text in a Word document, which take a hundred times as much memory to read."""
READ_SECONDS = 20.0
"""Seconds that all files of a request may take to be read."""

_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}

_SUFFIXES = {
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/json": ".txt",
    "application/x-ndjson": ".txt",
    "application/xml": ".txt",
    "application/yaml": ".txt",
}
"""How ingestion's readers know the media types that it reads."""
_UNTOLD = {"", "application/octet-stream", "binary/octet-stream"}
"""What is declared when the sender does not know."""
_READABLE = "Send PDF, DOCX, HTML, Markdown or text, or an image as PNG, JPEG, WebP or GIF."


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as it was sent."""

    part: str
    """What the request calls it, such as `messages[0].files[1]`."""
    message: int
    """The message that it belongs to, counted from 0."""
    index: int
    """Its place among the files of that message."""
    filename: str
    """What the user calls it, without folders; empty if nobody said."""
    media_type: str
    """As declared, in lower case, without parameters; empty if nobody said."""
    charset: str | None
    """As declared."""
    data: bytes = field(repr=False)
    """Its bytes."""

    @property
    def name(self) -> str:
        """What the prompt calls it; without brackets, which enclose citations."""
        return self.filename.replace("[", "(").replace("]", ")") or f"file {self.index + 1}"

    def __str__(self) -> str:
        return f"{self.part} ('{self.filename}')" if self.filename else self.part


async def attach(
    request: ChatRequest,
    files: Sequence[Attachment],
    sandbox: "Sandbox",
    *,
    no_images: str | None,
    read_seconds: float = READ_SECONDS,
) -> ChatRequest:
    """Add the files to the messages that they name.

    Args:
        request: The conversation.
        files: In any order.
        sandbox: Reads the files.
        no_images: Why images cannot be taken, as a sentence; None if they can.
        read_seconds: How long the files may take to be read.

    Raises:
        BadRequest: a file names no message of the user's, or cannot be read; says which and why.
        TooLarge: the files take too long to read; names the one that did not come to its end.
    """
    messages = list(request.messages)
    room = LONGEST_TEXT
    deadline = asyncio.get_running_loop().time() + read_seconds
    for file in sorted(files, key=lambda file: (-file.message, file.index)):
        message = _owner(file, messages)
        if media_type := _image_type(file):
            if no_images:
                raise BadRequest(f"{file} is an image. {no_images}")
            images = (*message.images, ImagePart(media_type, file.data))
            messages[file.message] = replace(message, images=images)
            continue
        text = await _text_of(file, deadline, sandbox)
        fits = text.encode()[:room]
        room -= len(fits)
        kept = fits.decode(errors="ignore")  # the cut may go through a character
        attached = FileText(file.name, kept, left_out=len(text) - len(kept))
        messages[file.message] = replace(message, files=(*message.files, attached))
    return replace(request, messages=tuple(messages))


def attached_thoughts(request: ChatRequest) -> list[Thought]:
    """What became of the files, if there are any."""
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
    """The type of an image, by its bytes and as declared; None of anything else."""
    declared = _ALIASES.get(file.media_type, file.media_type)
    if not file.data:
        raise BadRequest(f"{file} is empty.")
    if declared.startswith("image/") and declared not in IMAGE_TYPES:
        raise BadRequest(f"{file} is of the type '{declared}', which cannot be read. {_READABLE}")
    found = image_type(file.data)
    if declared in _UNTOLD or declared == found:
        return found
    if found or declared in IMAGE_TYPES:
        raise BadRequest(f"{file} is declared as '{declared}', but its bytes are {found or 'no such image'}.")
    return None


async def _text_of(file: Attachment, deadline: float, sandbox: "Sandbox") -> str:
    from shared.reading import UnreadableError
    from shared.reading.readers import with_text
    from shared.reading.sandbox import ReadLimitError

    suffix = _suffix(file)
    try:
        async with asyncio.timeout_at(deadline):
            pages = with_text(await sandbox.read(file.data, suffix, file.charset, max_markup=LARGEST_MARKUP))
    except ReadLimitError as limit:
        raise TooLarge(f"{file} {limit}") from limit
    except UnreadableError as unreadable:
        raise BadRequest(f"{file} {unreadable}") from unreadable
    except TimeoutError:
        raise TooLarge(f"{file} takes too long to read. Send a shorter one.") from None
    return "\n\n".join(f"(page {page.number})\n{page.text}" if page.number else page.text for page in pages)


def _suffix(file: Attachment) -> str:
    """The suffix by which ingestion finds the reader: by the declared type, else by the name."""
    from shared.reading.readers import READERS

    named = PurePath(file.filename).suffix.lower()
    declared = file.media_type
    if declared in _UNTOLD:
        declared = mimetypes.guess_type(file.filename)[0] or ""
    if suffix := _SUFFIXES.get(declared):
        return suffix
    if declared.startswith("text/") or declared.endswith(("+json", "+xml")):
        return ".txt"
    if named in READERS:
        return named
    what = f"is of the type '{file.media_type}'" if file.media_type else "has no content-type and no known file name"
    raise BadRequest(f"{file} {what}, which cannot be read. {_READABLE}")
