"""The files of the playground as browsers get them: compressed, and at addresses that change with their content.

All files lie below one digest of them all, `playground/{digest}/…`. Modules import each other by relative paths, so a
browser may keep every file for ever, and no page ever mixes two versions. Nothing is read before the first request.
"""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from shared.chat_types import Json

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The kinds of files that are served. Licences, types and the page itself are not."""
_IMPORT = re.compile(r"""^(?:import|export)\b[^"'();]*["'](\.[^"']+)["'];?$""", re.MULTILINE)
_FIRST = "app.js"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file for a browser."""

    media_type: str
    """With its charset."""
    data: bytes
    """As it is on disk."""
    gzipped: bytes
    """Compressed (RFC 1952)."""


@cache
def digest() -> str:
    """Return the digest of all files that are served. This reads them all: call it in a thread."""
    hashed = sha256()
    for name, path in sorted(_files().items()):
        hashed.update(f"{name}\0{path.stat().st_size}\0".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


@cache
def find(name: str) -> StaticFile | None:
    """Return a file by its path below the digest; None: there is none. This reads and compresses: call it in a thread.

    The names come from the folder, so that no path of a caller ever reaches the file system.
    """
    path = _files().get(name)
    if path is None:
        return None
    data = path.read_bytes()
    return StaticFile(_TYPES[path.suffix], data, gzip.compress(data, 9, mtime=0))


@cache
def page(about: str) -> StaticFile:
    """Return the page.

    Args:
        about: What the page has to know of the app, as `about_json` writes it.
    """
    html = (_FOLDER / "index.html").read_text(encoding="utf-8")
    loads = "\n".join(f'<link rel="modulepreload" href="{{files}}/{name}">' for name in _imports(_FIRST))
    html = html.replace("{preloads}", loads).replace("{files}", f"playground/{digest()}").replace("{about}", about)
    data = html.encode()
    return StaticFile("text/html; charset=utf-8", data, gzip.compress(data, 9, mtime=0))


def about_json(about: dict[str, Json]) -> str:
    """Write JSON that can stand in an HTML element (HTML, 4.12.1.3)."""
    return json.dumps(about).replace("<", "\\u003c")


@cache
def _files() -> dict[str, Path]:
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
        path = _files()[name]
        found = (path.parent / relative for relative in _IMPORT.findall(path.read_text(encoding="utf-8")))
        waiting += (file.resolve().relative_to(_FOLDER.resolve()).as_posix() for file in found)
