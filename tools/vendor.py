"""Fetch the playground's libraries from the npm registry, or check them: `python tools/vendor.py [--check]`.

They are served as they are committed: no page loads anything from elsewhere, and nothing is built. `vendor.json` has
each library's version and licence, the digest of its package and of each file. To update one, change its version in
`LIBRARIES`, and in `tools/typescript/package.json` if that has its types, and run this.
"""

import base64
import hashlib
import io
import json
import re
import sys
import tarfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from setup import ROOT

FOLDER = ROOT / "shared" / "playground" / "static" / "vendor"
LIST = FOLDER / "vendor.json"
TYPES = ROOT / "tools" / "typescript" / "package.json"
_IMPORTS = {
    '"preact"': '"./preact.js"',
    '"preact/hooks"': '"./preact-hooks.js"',
    '"@preact/signals-core"': '"./signals-core.js"',
}


class Entry(TypedDict):
    """What `vendor.json` says of a library."""

    version: str
    licence: str
    package: str
    """Digest of the registry's package."""
    icons: NotRequired[list[str]]
    """Its icons that are used."""
    files: dict[str, str]
    """Digest of each file as it is served."""


type Entries = dict[str, Entry]


@dataclass(frozen=True)
class Library:
    """A package of the npm registry."""

    name: str
    version: str
    files: dict[str, str]
    """Names of its files here, by their paths in the package. Licences are among them."""
    wrapped: bool = False
    """Whether its scripts are CommonJS, which a page cannot import before this turns them into modules."""
    icons: tuple[str, ...] = ()
    """The icons that are used, of a package that has them all in one JSON file."""


_KATEX_FONTS = (
    *("AMS-Regular", "Caligraphic-Bold", "Caligraphic-Regular", "Fraktur-Bold", "Fraktur-Regular", "Main-Bold"),
    *("Main-BoldItalic", "Main-Italic", "Main-Regular", "Math-BoldItalic", "Math-Italic", "SansSerif-Bold"),
    *("SansSerif-Italic", "SansSerif-Regular", "Script-Regular", "Size1-Regular", "Size2-Regular", "Size3-Regular"),
    *("Size4-Regular", "Typewriter-Regular"),
)
LIBRARIES = (
    Library(
        "preact",
        "11.2.0",
        {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "preact-hooks.js", "LICENSE": "preact.LICENSE"},
    ),
    Library(
        "@preact/signals-core",
        "1.14.5",
        {"dist/signals-core.mjs": "signals-core.js", "LICENSE": "signals-core.LICENSE"},
    ),
    Library("@preact/signals", "2.11.4", {"dist/signals.mjs": "signals.js", "LICENSE": "signals.LICENSE"}),
    Library("htm", "3.1.1", {"dist/htm.mjs": "htm.js", "LICENSE": "htm.LICENSE"}),
    Library("marked", "18.2.1", {"lib/marked.esm.js": "marked.js", "LICENSE": "marked.LICENSE"}),
    Library("dompurify", "3.4.18", {"dist/purify.min.js": "purify.js", "LICENSE": "purify.LICENSE"}, wrapped=True),
    Library(
        "@highlightjs/cdn-assets", "11.12.0", {"es/highlight.min.js": "highlight.js", "LICENSE": "highlight.LICENSE"}
    ),
    Library(
        "katex",
        "0.19.1",
        {"dist/katex.min.js": "katex.js", "dist/katex.min.css": "katex.css", "LICENSE": "katex.LICENSE"}
        | {f"dist/fonts/KaTeX_{font}.woff2": f"KaTeX_{font}.woff2" for font in _KATEX_FONTS},
        wrapped=True,
    ),
    Library(
        "lucide-static",
        "1.62.0",
        {"icon-nodes.json": "lucide.js", "LICENSE": "lucide.LICENSE"},
        icons=(
            *(
                "arrow-down",
                "arrow-left",
                "book-open",
                "braces",
                "check",
                "chevron-left",
                "chevron-right",
                "circle-check",
            ),
            *(
                "circle-question-mark",
                "copy",
                "download",
                "ellipsis",
                "files",
                "log-out",
                "menu",
                "minus",
                "panel-right",
                "paperclip",
            ),
            *("pencil", "pin", "pin-off", "plus", "printer", "refresh-cw", "settings", "share-2", "square-pen"),
            *("thumbs-down", "thumbs-up", "trash", "upload", "x"),
        ),
    ),
    Library(
        "pdfjs-dist",
        "6.5.438",
        {"build/pdf.min.mjs": "pdf.js", "build/pdf.worker.min.mjs": "pdf.worker.js", "LICENSE": "pdf.LICENSE"},
    ),
    Library(
        "swagger-ui-dist",
        "5.35.0",
        {"swagger-ui-bundle.js": "swagger-ui.js", "swagger-ui.css": "swagger-ui.css", "LICENSE": "swagger-ui.LICENSE"},
    ),
    Library(
        "@azure/msal-browser",
        "5.29.0",
        {"lib/msal-browser.min.js": "msal.js", "LICENSE": "msal.LICENSE"},
        wrapped=True,
    ),
)


def main() -> None:
    """Fetch what `vendor.json` does not have; with `--check`, compare the files with it and fetch nothing."""
    listed: Entries = json.loads(LIST.read_text()) if LIST.exists() else {}
    if "--check" not in sys.argv:
        listed = {one.name: listed[one.name] if _is_listed(one, listed) else _fetch(one) for one in LIBRARIES}
        LIST.write_text(json.dumps(listed, indent=2) + "\n")
    if faults := sorted(_faults(listed)):
        sys.exit("\n".join([*faults, "`python tools/vendor.py` fetches the libraries of the playground."]))


def _is_listed(library: Library, listed: Entries) -> bool:
    entry = listed.get(library.name)
    return entry is not None and (entry["version"], entry.get("icons", [])) == (library.version, [*library.icons])


def _fetch(library: Library) -> Entry:
    """Write a library's files; return its entry. The registry's digest is checked, and that of an entry is pinned."""
    name = urllib.parse.quote(library.name, safe="@")
    described = json.loads(_download(f"https://registry.npmjs.org/{name}/{library.version}"))
    package = _download(described["dist"]["tarball"])
    integrity = described["dist"]["integrity"]
    if integrity != _digest(package):
        sys.exit(f"{library.name}: the package is not the one that the registry describes.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for inside, outside in library.files.items():
            member = archive.extractfile(f"package/{inside}")
            if not member:
                sys.exit(f"{library.name}: {inside} is not a file.")
            (FOLDER / outside).write_bytes(_adapted(member.read(), outside, library))
    entry: Entry = {
        "version": library.version,
        "licence": described["license"],
        "package": integrity,
        "files": {name: _digest((FOLDER / name).read_bytes()) for name in sorted(library.files.values())},
    }
    if library.icons:
        entry["icons"] = [*library.icons]
    return entry


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=120) as answer:
        return answer.read()


def _adapted(data: bytes, name: str, library: Library) -> bytes:
    """Make a script one that a page imports: relative imports, no source map, and a module where it is none."""
    if not name.endswith((".js", ".css")):
        return data
    if library.icons:
        every = json.loads(data)
        used = {icon: every[icon] for icon in library.icons}
        return f"export default {json.dumps(used, separators=(',', ':'))};\n".encode()
    text = re.sub(r"\n(//|/\*)# sourceMappingURL=.*", "", data.decode()).rstrip() + "\n"
    for bare, relative in _IMPORTS.items():
        text = text.replace(f"from{bare}", f"from{relative}")
    # Fonts lie beside their style sheet, each in the one format that every browser of today takes.
    text = re.sub(r',url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)', "", text).replace("url(fonts/", "url(")
    if library.wrapped and name.endswith(".js"):
        text = f"const module = {{ exports: {{}} }}, exports = module.exports;\n{text}export default module.exports;\n"
    return text.encode()


def _faults(listed: Entries) -> set[str]:
    """Compare the folder with the list, and the list with `LIBRARIES`."""
    expected: dict[str, str] = {}
    faults: set[str] = set()
    for library in LIBRARIES:
        if not _is_listed(library, listed):
            faults.add(f"{library.name} {library.version} is not in vendor.json")
            continue
        expected |= listed[library.name]["files"]
    typed: dict[str, str] = json.loads(TYPES.read_text())["dependencies"]
    faults |= {
        f"{library.name}: tools/typescript/package.json has the types of another version"
        for library in LIBRARIES
        if typed.get(library.name, library.version) != library.version
    }
    own = {LIST, *FOLDER.glob("*.d.ts")}
    here = {path.name: _digest(path.read_bytes()) for path in FOLDER.iterdir() if path not in own}
    return faults | {
        f"{name} is not as vendor.json has it"
        for name in here.keys() | expected
        if here.get(name) != expected.get(name)
    }


def _digest(data: bytes) -> str:
    """Return the digest as the registry writes it (Subresource Integrity, 3.1)."""
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


if __name__ == "__main__":
    main()
