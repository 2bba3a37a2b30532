"""The files of the playground as browsers get them: compressed, and at addresses that change with their content.

All files lie below one digest of them all, `playground/{digest}/…`. Modules import each other by relative paths, so a
browser may keep every file for ever, and no page ever mixes two versions. Nothing is read before the first request.
"""

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from shared.chat_types import Json

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
"""The kinds of files that are served. Licences, types and the page itself are not."""
_IMPORT = re.compile(r"""^(?:import|export)\b[^"'();]*["'](\.[^"']+)["'];?$""", re.MULTILINE)
_MODULE = re.compile(r'<script type="module" src="{files}/([^"]+)">')


class StaticFile(msgspec.Struct, frozen=True):
    """A file for a browser."""

    media_type: str
    """With its charset."""
    data: bytes
    """As it is on disk."""
    gzipped: bytes
    """Compressed (RFC 1952)."""
    digest: str
    """Digest of `data`."""

    @classmethod
    def of(cls, media_type: str, data: bytes) -> "StaticFile":
        """Compress a file's bytes."""
        return cls(media_type, data, gzip.compress(data, 9, mtime=0), sha256(data).hexdigest()[:16])


@cache
def digest() -> str:
    """Return the digest of all files that are served. This reads them all: call it in a thread."""
    hashed = sha256()
    for name, path in sorted(_paths().items()):
        hashed.update(f"{name}\0{path.stat().st_size}\0".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def find(name: str) -> StaticFile | None:
    """Return a file by its path below the digest; None: there is none. This reads and compresses: call it in a thread.

    The names come from the folder, so that no path of a caller ever reaches the file system.
    """
    path = _paths().get(name)
    return _read(path) if path else None


@cache
def _read(path: Path) -> StaticFile:
    return StaticFile.of(_TYPES[path.suffix], path.read_bytes())


@cache
def page(name: str, about: str) -> StaticFile:
    """Return a page.

    Args:
        name: Its file.
        about: What it has to know of the app, as `about_json` writes it.
    """
    html = (_FOLDER / name).read_text(encoding="utf-8")
    modules = (module for first in _MODULE.findall(html) for module in _imports(first))
    loads = "\n".join(f'<link rel="modulepreload" href="{{files}}/{module}">' for module in modules)
    html = html.replace("{preloads}", loads).replace("{files}", f"playground/{digest()}").replace("{about}", about)
    return StaticFile.of("text/html; charset=utf-8", html.encode())


def about_json(about: dict[str, Json]) -> str:
    """Write JSON that can stand in an HTML element (HTML, 4.12.1.3)."""
    return json.dumps(about).replace("<", "\\u003c")


@cache
def _paths() -> dict[str, Path]:
    found = (path for path in _FOLDER.rglob("*") if path.suffix in _TYPES)
    return {path.relative_to(_FOLDER).as_posix(): path for path in found}


def _imports(first: str) -> Iterator[str]:
    """The modules that a module needs at once, each once, so that a browser asks for all of them together."""
    waiting, seen = [first], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        path = _paths()[name]
        found = (path.parent / relative for relative in _IMPORT.findall(path.read_text(encoding="utf-8")))
        waiting += (file.resolve().relative_to(_FOLDER.resolve()).as_posix() for file in found)
