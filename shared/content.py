"""The source documents that answers cite: exactly those that were indexed, and nothing else."""

import codecs
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from shared.errors import NotFound

_TYPES = {
    ".md": "text/markdown",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
"""Media types that not every system knows."""
_SNIFF_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """A file to send."""

    path: Path
    """Where it is."""
    headers: Mapping[str, str]
    """What it is, and what a browser must not do with it."""


def find_document(content_dir: Path, path: str) -> Document:
    """Find an indexed document by the path in `GET /content/{path}`, decoded once.

    A citation's `#page=3` may be part of it, and so may the escapes in its name, if a client encoded the whole.

    Raises:
        NotFound: there is no such document; what lies outside of `content_dir` is no document.
    """
    root = content_dir.resolve()
    for name in dict.fromkeys((path, path.partition("#")[0], unquote(path), unquote(path.partition("#")[0]))):
        if file := _inside(root, name):
            return Document(file, _headers(file))
    raise NotFound("There is no such document.")


def _inside(root: Path, name: str) -> Path | None:
    try:
        file = (root / name).resolve()
        is_document = file.is_relative_to(root) and file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return None
    return file if is_document else None


def _headers(file: Path) -> dict[str, str]:
    media_type = _TYPES.get(file.suffix.lower()) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    headers = {"x-content-type-options": "nosniff", "content-type": media_type}
    if media_type.startswith("text/") and _is_utf8(file):
        headers["content-type"] += "; charset=utf-8"
    if media_type in ("text/html", "application/xhtml+xml", "image/svg+xml"):
        headers["content-security-policy"] = "sandbox"  # a document's scripts have no business on our origin
    return headers


def _is_utf8(file: Path) -> bool:
    """Whether the file begins as UTF-8."""
    with file.open("rb") as opened:
        start = opened.read(_SNIFF_BYTES)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True
