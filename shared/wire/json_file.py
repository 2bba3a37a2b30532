"""Files in the JSON of a request, in base64: beside their media type, or in `data:` URLs. Source: RFC 2397."""

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from shared.core.attachments import Attachment
from shared.errors import BadRequest, TooLarge
from shared.wire.multipart import MOST_FILES, shown_filename, shown_name


class SentFile(msgspec.Struct, frozen=True):
    """An image or another file in a message."""

    place: int
    """Index of its message, counted from 0."""
    part: str
    """Its place in the body, for error messages."""
    data: str
    """The file in base64, in a `data:` URL or alone."""
    filename: str = ""
    """Its name; empty if not given."""
    media_type: str = ""
    """Its media type where the body has it beside the file, with parameters."""


def attached_files(sent: Iterable[SentFile]) -> tuple[Attachment, ...]:
    """Decode images and other files.

    Raises:
        BadRequest: a file is not in base64, or empty.
        TooLarge: there are too many.
    """
    files: list[Attachment] = []
    for file in sent:
        if len(files) == MOST_FILES:
            raise TooLarge(f"The messages have more than {MOST_FILES} images and files. Send fewer.")
        index = sum(other.message == file.place for other in files)
        files.append(_decoded(file, index))
    return tuple(files)


def _decoded(file: SentFile, index: int) -> Attachment:
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
    return Attachment(file.part, file.place, index, name, kind, charset, content)
