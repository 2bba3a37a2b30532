"""The day that a document states as its own: when it was last changed, or else made or published.

The time of the file says nothing: a copy has another one.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module

from shared.reading.limits import ReadLimits
from shared.reading.markdown import FRONT_MATTER
from shared.reading.office_parts import read_part, related
from shared.reading.packages import package, parse_xml
from shared.retrieval import day_in

_LONGEST_HEAD = 64 * 1024
"""Bytes of a text in which its date is looked for."""
_ENTRY = re.compile(r"""^([\w-]{4,20})[ \t]*[:=][ \t]*["']?([0-9][0-9-]{9})""", re.MULTILINE)
_KEYS = ("last_updated", "last_modified", "lastmod", "updated", "modified", "date")
"""Entries of the front matter of Jekyll, Hugo, Docusaurus and others, the best first."""
_META = (
    *("article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "date", "dcterms.date"),
    *("dc.date", "article:published_time", "dcterms.created"),
)
"""Names of `meta` elements, the best first."""


def date_of(data: bytes, suffix: str, limits: ReadLimits) -> str:
    """Find the day that a file states as its own, as `YYYY-MM-DD`; empty if it states none that can be its own.

    Args:
        data: The bytes of the file, which has been read.
        suffix: The suffix of its name, such as `.pdf`, in lower case.
        limits: What the file may hold.
    """
    with suppress(Exception):  # given odd bytes, a parser may raise anything; the text was read all the same
        for time in _STATED[suffix](data, limits) if suffix in _STATED else ():
            if day := day_in(time):
                return day
    return ""


def _pdf(data: bytes, _limits: ReadLimits) -> Iterable[str]:
    return import_module("shared.reading.pdf").times_of_pdf(data)  # which reads what is attached, of any format


def _office(data: bytes, limits: ReadLimits) -> Iterator[str]:
    """Source: ECMA-376 Part 2, 8 'Core Properties'."""
    with package(data, limits) as parts:
        for one in related(parts, ""):
            if one.kind == "core-properties":
                yield from _texts(parts, one.name, limits, "{*}modified", "{*}created")


def _open_document(data: bytes, limits: ReadLimits) -> Iterator[str]:
    """Source: OpenDocument 1.3, part 3, 4.3 'Non-RDF Metadata'."""
    with package(data, limits) as parts:
        yield from _texts(parts, "meta.xml", limits, "{*}meta/{*}date", "{*}meta/{*}creation-date")


def _epub(data: bytes, limits: ReadLimits) -> Iterator[str]:
    """Source: EPUB 3.3, 5.5 'Metadata section'."""
    from shared.reading.markup import root_file

    paths = "{*}metadata/{*}meta[@property='dcterms:modified']", "{*}metadata/{*}date"
    with package(data, limits) as parts:
        yield from _texts(parts, root_file(parts), limits, *paths)


def _texts(parts: zipfile.ZipFile, name: str, limits: ReadLimits, *paths: str) -> Iterator[str]:
    """The texts of the elements at these paths in a part."""
    root = parse_xml(read_part(parts, name, limits))
    yield from (element.text or "" for path in paths for element in root.iterfind(path))


def _mail(data: bytes, _limits: ReadLimits) -> Iterator[str]:
    from email.parser import BytesHeaderParser
    from email.policy import compat32
    from email.utils import parsedate_to_datetime

    yield parsedate_to_datetime(str(BytesHeaderParser(policy=compat32).parsebytes(data)["Date"])).isoformat()


def _html(data: bytes, _limits: ReadLimits) -> Iterator[str]:
    from bs4 import BeautifulSoup
    from bs4.filter import SoupStrainer

    head = BeautifulSoup(data[:_LONGEST_HEAD].decode("latin-1"), "lxml", parse_only=SoupStrainer("meta"))
    found: dict[str, str] = {}
    for one in head.find_all("meta"):
        name = one.get("property") or one.get("name") or one.get("http-equiv")
        found.setdefault(str(name).lower(), str(one.get("content", "")))
    return (found.get(name, "") for name in _META)


def _markdown(data: bytes, _limits: ReadLimits) -> Iterator[str]:
    front = FRONT_MATTER.match(data[:_LONGEST_HEAD].decode("utf-8", "replace"))
    found = {key.lower().replace("-", "_"): value for key, value in _ENTRY.findall(front[2])} if front else {}
    return (found.get(key, "") for key in _KEYS)


_STATED: dict[str, Callable[[bytes, ReadLimits], Iterable[str]]] = {
    ".pdf": _pdf,
    ".eml": _mail,
    ".epub": _epub,
    **dict.fromkeys((".docx", ".pptx", ".pptm", ".xlsx", ".xlsm"), _office),
    **dict.fromkeys((".odt", ".odp", ".ods"), _open_document),
    **dict.fromkeys((".html", ".htm"), _html),
    **dict.fromkeys((".md", ".markdown"), _markdown),
}
"""From the suffix of a file to what finds the times that it states, the best first."""
