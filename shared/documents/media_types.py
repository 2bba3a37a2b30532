"""Media types: of documents, by their names; of images, by their first bytes."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Media types of the images that models accept."""


class _Table(msgspec.Struct, frozen=True):
    """Lists of our own: those of the operating system differ, and read `data:` in names."""

    of_suffixes: Mapping[str, str]
    """The media type of a document, by its suffix."""
    read_as: Mapping[str, str]
    """The suffix by which `shared.reading.readers` selects the reader, by the media type that a sender declares."""


_TABLE = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Table)
HARMLESS_TYPES = IMAGE_TYPES | {"application/json", "application/pdf", "text/csv", "text/markdown", "text/plain"}
"""Media types that browsers show without running scripts; those in a PDF have no rights of the app's origin."""
SHOWN_TYPES = HARMLESS_TYPES | {"application/xhtml+xml", "application/xml", "image/svg+xml", "text/html"}
"""Media types that browsers show."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""First bytes of images."""


def media_type(name: str) -> str:
    """Media type of a document by its suffix; `application/octet-stream` if the suffix is unknown."""
    return _TABLE.of_suffixes.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def read_as(media_type: str) -> str | None:
    """Suffix by which `shared.reading.readers` selects the reader of a media type; None if the type is unknown."""
    return _TABLE.read_as.get(media_type)


def image_type(data: bytes) -> str | None:
    """Media type of an image by its first bytes; None if it is not one of `IMAGE_TYPES`."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES if data.startswith(signature)), None)
