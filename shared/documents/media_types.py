"""Media types: of a document by its name, of an image by its bytes."""

import mimetypes
from pathlib import PurePosixPath

_TYPES = {
    ".md": "text/markdown",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
"""Media types that not every system knows."""

IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Media types of the images that models take."""
_IMAGE_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(name: str) -> str:
    """Return the media type for a name's suffix; `application/octet-stream` if the suffix is unknown."""
    suffix = PurePosixPath(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def image_type(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None if models do not take it."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _IMAGE_SIGNATURES if data.startswith(signature)), None)
