"""What kind of document a name stands for."""

import mimetypes
from pathlib import PurePosixPath

_TYPES = {
    ".md": "text/markdown",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
"""Media types that not every system knows."""


def media_type(name: str) -> str:
    """The media type by a name's suffix; `application/octet-stream` where that says nothing."""
    suffix = PurePosixPath(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
