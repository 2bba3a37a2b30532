"""The content of a message as a list of parts: texts, and files in base64.

A protocol has a function that reads one of its parts. Files are beside their media type, or in `data:` URLs (RFC 2397).
"""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import msgspec

from shared.chat_types import Json
from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge

MOST_PARTS = 1_000
"""Parts in the content of a message."""
MOST_FILES = 10
"""Maximum number of files in a request."""
_LONGEST_NAME = 100
"""Maximum length of a name from the caller in an error message or a prompt, in characters."""


class SentFile(msgspec.Struct, frozen=True):
    """An image or another file in a message."""

    part: str
    """Its place in the body, for error messages."""
    data: str
    """The file in base64, in a `data:` URL or alone."""
    filename: str = ""
    """Its name; empty if not given."""
    media_type: str = ""
    """Its media type where the body has it beside the file, with parameters."""


type ReadPart = Callable[[str, Json], str | SentFile]
"""Returns the text of a part, given the place of the part in the body, or the file that it is; raises BadRequest."""


def text_in(path: str, parts: list[Json], read: ReadPart) -> str:
    """Return the texts of a content in one string.

    Args:
        path: The place of the content in the body.
        parts: The content.
        read: Reads a part.

    Raises:
        BadRequest: there are too many parts, or one cannot be read.
    """
    if len(parts) > MOST_PARTS:
        raise BadRequest(f"{path}: should have at most {MOST_PARTS:,} parts.")
    found = [read(f"{path}[{number}]", part) for number, part in enumerate(parts)]
    return "\n\n".join(one for one in found if one and isinstance(one, str))


def files_in(path: str, content: Json, read: ReadPart) -> Iterator[SentFile]:
    """Yield the files of a content that `text_in` has accepted; one that is no list has none."""
    found = (
        read(f"{path}[{number}]", part) for number, part in enumerate(content if isinstance(content, list) else ())
    )
    yield from (one for one in found if isinstance(one, SentFile))


def attached_files(sent: Iterable[tuple[int, SentFile]]) -> tuple[Attachment, ...]:
    """Decode images and other files.

    Args:
        sent: The files, each with the index of its message, counted from 0.

    Raises:
        BadRequest: a file is not in base64, or empty.
        TooLarge: there are too many.
    """
    files: list[Attachment] = []
    for place, file in sent:
        if len(files) == MOST_FILES:
            raise TooLarge(f"The messages have more than {MOST_FILES} images and files. Send fewer.")
        index = sum(other.message == place for other in files)
        files.append(_decoded(file, place, index))
    return tuple(files)


def _decoded(file: SentFile, place: int, index: int) -> Attachment:
    head, colon, data = file.data.partition(",") if file.data.startswith("data:") else ("", "", file.data)
    kind, *parameters = head.removeprefix("data:").lower().replace(" ", "").split(";")
    content = b""
    if "base64" in parameters or not colon:
        with suppress(Base64Error, UnicodeEncodeError):
            content = a2b_base64(data.encode("ascii"), strict_mode=True)
    if not content:
        raise BadRequest(
            f"{file.part}: should be the file in base64, as a data: URL; nothing is fetched from elsewhere."
        )
    declared, *more = file.media_type.lower().replace(" ", "").split(";")
    charsets = [one.removeprefix("charset=") for one in (*parameters, *more) if one.startswith("charset=")]
    charset = charsets[0] if charsets else None
    name, kind = shown_filename(file.filename), shown_name(declared or kind)
    return Attachment(file.part, place, index, name, kind, charset, content)


def shown_name(name: str) -> str:
    """Make a name from the caller safe for an error message or the prompt: one line of limited length."""
    line = "".join(character if character.isprintable() else " " for character in name)
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME // 2]}…{line[-_LONGEST_NAME // 2 :]}"


def shown_filename(path: str) -> str:
    """Make a file's name from the caller safe in the same way; clients may send it with its folders."""
    return shown_name(re.split(r"[/\\]", path)[-1].strip())
