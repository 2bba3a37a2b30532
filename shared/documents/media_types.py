"""Media types: of documents, by their names; of images, by their first bytes."""

import mimetypes
from pathlib import PurePosixPath

IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""Media types of the images that models accept."""

_BY_SUFFIX = {
    ".md": "text/markdown",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
"""Media types that not every operating system knows."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""First bytes of images."""


def media_type(name: str) -> str:
    """Media type of a document by its suffix; `application/octet-stream` if the suffix is unknown."""
    suffix = PurePosixPath(name).suffix.lower()
    return _BY_SUFFIX.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def image_type(data: bytes) -> str | None:
    """Media type of an image by its first bytes; None if it is not one of `IMAGE_TYPES`."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES if data.startswith(signature)), None)
