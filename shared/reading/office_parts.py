"""Parts that Word documents, workbooks and presentations have in common: charts and comments.

Source: ECMA-376 Part 1, 21.2 'DrawingML - Charts'; Part 2, 9.3 'Relationships'.
"""

import datetime as dt
import posixpath
import re
import zipfile
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple
from xml.etree.ElementTree import Element

from shared.reading.limits import ReadLimits, check_limit
from shared.reading.number_formats import LITERAL, plain_number
from shared.reading.packages import MARKUP, local_name, parse_xml
from shared.reading.tables import markdown_table

_FIRST_DAY = dt.datetime(1899, 12, 30)  # noqa: DTZ001 (days have no time zone)
_LAST_DAY = 2_958_465
_COMMENTS = ("comment", "threadedComment", "cm", "reply")


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


def read_part(parts: zipfile.ZipFile, name: str, limits: ReadLimits) -> bytes:
    """Read a part that is parsed as a whole, if it is not too large."""
    check_limit(parts.getinfo(name).file_size, limits.xml_bytes, MARKUP)
    return parts.read(name)


def comments_of(xml: bytes) -> Iterator[tuple[str, str]]:
    """The comments in a part, each with the cell that it is on; empty where it is on none."""
    for comment in parse_xml(xml).iter():
        if local_name(comment) in _COMMENTS:
            bodies = (child for child in comment if local_name(child) in ("text", "txBody"))
            text = " ".join(" ".join("".join(body.itertext()) for body in bodies).split())
            if text:
                yield comment.get("ref", ""), text


def chart_text(xml: bytes, limits: ReadLimits) -> str:
    """The title of a chart, and its values as a table: a row for each category, a column for each series."""
    chart = parse_xml(xml)
    title = "".join(text.text or "" for text in chart.iterfind("{*}chart/{*}title//{*}t"))
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
    return "\n\n".join(filter(None, (title.strip(), markdown_table([head, *rows]) if places else "")))


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
