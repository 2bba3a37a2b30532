"""What Office documents have in common: charts, comments, equations, which OpenDocument has too, and files in them.

Source: ECMA-376 Part 1, 21.2 'DrawingML - Charts' and 22.1 'Math'; Part 2, 9.3 'Relationships'; and MathML 3.
"""

import datetime as dt
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from copy import replace
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple
from xml.etree.ElementTree import Element

from shared.reading import UnreadableError
from shared.reading.limits import ReadLimitError, ReadLimits, check_limit
from shared.reading.number_formats import LITERAL, plain_number
from shared.reading.packages import local_name, parse_xml, read_part
from shared.reading.readers import READERS, read_all_pages
from shared.reading.tables import markdown_table

_FIRST_DAY = dt.datetime(1899, 12, 30)  # noqa: DTZ001 (days have no time zone)
_LAST_DAY = 2_958_465
_COMMENTS = ("comment", "threadedComment", "cm", "reply")
EMBEDDED = ("package", "oleObject")
"""The kinds of the parts of an Office document that are whole files."""
_OPERANDS = {
    **dict.fromkeys(("f", "mfrac"), "{0}/{1}"),
    **dict.fromkeys(("sSup", "msup", "limUpp", "mover"), "{0}^{1}"),
    **dict.fromkeys(("sSub", "msub", "limLow", "munder"), "{0}_{1}"),
    **dict.fromkeys(("sSubSup", "msubsup", "munderover"), "{0}_{1}^{2}"),
}
"""How the parts of an element are written, each as one operand."""
_WHOLE = {"rad": "{0}√({1})", "mroot": "{1}√({0})", "func": "{0}({1})"}
"""How they are written as they are."""
_BETWEEN = {"m": "; ", "mtable": "; ", "eqArr": "; ", "mr": ", ", "mtr": ", "}


class Related(NamedTuple):
    """A part that another one names."""

    id: str
    """The name within the other part."""
    kind: str
    """What it is, such as `chart`."""
    name: str
    """Its name in the package."""


def related(parts: zipfile.ZipFile, name: str) -> list[Related]:
    """The parts that a part names and that are there."""
    folder, file = posixpath.split(name)
    relations = posixpath.join(folder, "_rels", f"{file}.rels")
    present = {found.lower(): found for found in parts.namelist()}
    if relations.lower() not in present:
        return []
    found: list[Related] = []
    for one in parse_xml(parts.read(present[relations.lower()])):
        target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", "")))[1:].lower()
        if target in present and one.get("TargetMode") != "External":
            found.append(Related(one.get("Id", ""), one.get("Type", "").rpartition("/")[2], present[target]))
    return found


def comments_of(xml: bytes) -> Iterator[tuple[str, str]]:
    """The comments in a part, each with the cell that it is on; empty where it is on none."""
    for comment in parse_xml(xml).iter():
        if local_name(comment) in _COMMENTS:
            bodies = (child for child in comment if local_name(child) in ("text", "txBody"))
            text = " ".join(" ".join("".join(body.itertext()) for body in bodies).split())
            if text:
                yield comment.get("ref", ""), text


def chart_text(xml: bytes, limits: ReadLimits) -> str:
    """The titles of a chart and of its axes, and its values: a row for each category, a column for each series."""
    chart = parse_xml(xml)
    shown = chain.from_iterable(map(chart.iterfind, ("{*}chart/{*}title", "{*}chart/{*}plotArea/*/{*}title")))
    titles = ("".join(text.text or "" for text in title.iterfind(".//{*}t")).strip() for title in shown)
    categories: dict[int, str] = {}
    columns: list[tuple[str, dict[int, str]]] = []
    for series in chart.iterfind("{*}chart/{*}plotArea/*/{*}ser"):
        for place, text in _points(series, "cat", "xVal"):
            categories.setdefault(place, text)
        name = " ".join(text for _, text in _points(series, "tx"))
        columns.append((name, dict(_points(series, "val", "yVal"))))
    places = sorted({*categories, *(place for _, values in columns for place in values)})
    check_limit(len(places) * len(columns), limits.cells, "values of charts")
    head = ["", *(name for name, _ in columns)]
    rows = ([categories.get(place, ""), *(values.get(place, "") for _, values in columns)] for place in places)
    return "\n\n".join(filter(None, (*titles, markdown_table([head, *rows]) if places else "")))


def _points(series: Element, *kinds: str) -> Iterator[tuple[int, str]]:
    """The values of one of these kinds that a chart keeps, by their place."""
    for data in chain.from_iterable(series.iterfind(f"{{*}}{kind}") for kind in kinds):
        yield from ((0, text.text or "") for text in data.iterfind("{*}v"))
        codes = (LITERAL.sub("", code.text or "") for code in data.iterfind("{*}numRef/{*}numCache/{*}formatCode"))
        code = next(codes, None)
        for point in data.iterfind(".//{*}pt"):
            value = "".join(text.text or "" for text in point.iterfind("{*}v"))
            yield int(point.get("idx", "0")), value if code is None else _formatted(value, code)


def _formatted(value: str, code: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return value
    if re.search("[yd]", code, re.IGNORECASE) and "General" not in code and 0 < number < _LAST_DAY:
        return (_FIRST_DAY + dt.timedelta(days=number)).isoformat(" ", "seconds").removesuffix(" 00:00:00")
    return plain_number(number)


def equation_text(element: Element) -> str:
    """The text of an equation, or of a part of one."""
    parts = [equation_text(child) for child in element if not local_name(child).endswith(("Pr", "annotation"))]
    three = (*parts, "", "", "")[:3]
    match local_name(element):
        case name if name in _OPERANDS:
            return _OPERANDS[name].format(*map(_whole, three))
        case name if name in _WHOLE:
            return _WHOLE[name].format(*three)
        case "msqrt":
            return f"√({''.join(parts)})"
        case "nary":
            low, high, rest = three
            return (
                f"{_sign(element, 'chr', '∫')}{f'_{_whole(low)}' * bool(low)}{f'^{_whole(high)}' * bool(high)} {rest}"
            )
        case "d":
            inner = _sign(element, "sepChr", "|").join(parts)
            return f"{_sign(element, 'begChr', '(')}{inner}{_sign(element, 'endChr', ')')}"
        case name:
            return (element.text or "").strip() + _BETWEEN.get(name, "").join(parts)


def _whole(text: str) -> str:
    """The text as one operand."""
    return text if len(text) == 1 or text.isalnum() else f"({text})"


def _sign(element: Element, name: str, default: str) -> str:
    """A sign that the properties of an element name."""
    for found in element.iterfind(f"./*/{{*}}{name}"):
        return next(iter(found.attrib.values()), "")
    return default


def read_attached(name: str, data: bytes, limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read a file within another one.

    Returns:
        Its text below its name, or that it is not read; and what of it is left out.

    Raises:
        ReadLimitError: it holds more than a file may hold.
    """
    suffix, why = PurePath(name).suffix.lower(), ""
    if suffix in READERS and not limits.depth:
        why = " (it is in too many others)"
    elif suffix in READERS:
        try:
            pages = read_all_pages(data, suffix, limits=replace(limits, depth=limits.depth - 1))
        except ReadLimitError:
            raise
        except UnreadableError as unreadable:
            why = f" ({unreadable})"
        except OSError:  # the reader of PDF files cannot load another parser
            pass
        else:
            texts = [page.text for page in pages if page.text]
            left_out = dict.fromkeys(f"{what} of {name}" for page in pages for what in page.left_out)
            if texts:
                return "\n\n".join((f"## Attachment: {name}", *texts)), (*left_out,)
            why = " (holds no text)"
    return f"Attachment, not read: {name}{why}", (f"attachment {name}",)


def read_related(parts: zipfile.ZipFile, found: Iterable[Related], limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read the files that a part of an Office document names: as `read_embedded`."""
    names = dict.fromkeys(one.name for one in found if one.kind in EMBEDDED)
    return read_embedded(((name, read_part(parts, name, limits)) for name in names), limits)


def read_embedded(files: Iterable[tuple[str, bytes]], limits: ReadLimits) -> tuple[str, tuple[str, ...]]:
    """Read embedded files, given by the names and bytes of their parts: their texts, and what of them is left out."""
    read = [read_attached(PurePath(name).name, data, limits) for name, data in files]
    return "\n\n".join(text for text, _ in read), tuple(what for _, left_out in read for what in left_out)
