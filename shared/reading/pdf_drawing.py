"""The ruling lines that are drawn on a page of a PDF."""

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from pypdfium2 import PdfPage, raw

from shared.reading.pdf_rules import Rule

_MAX_OBJECTS = 20_000
"""Maximum drawn objects of a page, and points of their paths, that are read; drawings and maps have more."""
_MAX_DEPTH = 3
"""Maximum depth of forms (drawings that are used by others) inside each other."""
_STRAIGHT = 1.0
"""Points by which a straight line may be off."""
_THICKEST = 3.0
"""Points of the thickest ruling line; a thicker one is an area, whose edges may be lines."""

type _Matrix = tuple[float, float, float, float, float, float]
type _Color = tuple[int, int, int] | None
type _Points = list[tuple[float, float]]

_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


def ruling_lines(page: PdfPage, place: Callable[[float, float], tuple[float, float]]) -> tuple[list[Rule], list[Rule]]:
    """Return the horizontal and the vertical lines of a page, and the edges of its areas; none of a large drawing.

    Args:
        page: The page.
        place: Returns where a point of the page is, once the page is turned to be read.
    """
    horizontal: list[Rule] = []
    vertical: list[Rule] = []
    edges: list[tuple[bool, Rule, _Color]] = []
    points = 0
    for path, color in _paths(page):
        points += len(path)
        if points > _MAX_OBJECTS:
            return [], []
        corners = [place(x, y) for x, y in path]
        left, right = min(x for x, _ in corners), max(x for x, _ in corners)
        bottom, top = min(y for _, y in corners), max(y for _, y in corners)
        if top - bottom <= _THICKEST:
            horizontal.append(Rule((bottom + top) / 2, left, right))
        elif right - left <= _THICKEST:
            vertical.append(Rule((left + right) / 2, bottom, top))
        else:
            for (x, y), (x2, y2) in pairwise(corners):
                if abs(y - y2) <= _STRAIGHT:
                    edges.append((True, Rule((y + y2) / 2, min(x, x2), max(x, x2)), color))
                elif abs(x - x2) <= _STRAIGHT:
                    edges.append((False, Rule((x + x2) / 2, min(y, y2), max(y, y2)), color))
    for is_horizontal, rule in _visible(edges):
        (horizontal if is_horizontal else vertical).append(rule)
    return horizontal, vertical


def _visible(edges: Sequence[tuple[bool, Rule, _Color]]) -> Iterator[tuple[bool, Rule]]:
    """The edges without those between two areas of the same colour, such as the backgrounds of the lines of a text."""
    keys = [
        (is_horizontal, round(rule.at), round(rule.start), round(rule.end), color)
        for is_horizontal, rule, color in edges
    ]
    counts = Counter(keys)
    for (is_horizontal, rule, color), key in zip(edges, keys, strict=True):
        if not is_horizontal or color is None or counts[key] == 1:
            yield is_horizontal, rule


def _paths(page: PdfPage) -> Iterator[tuple[_Points, _Color]]:
    """The straight parts of all visible paths, each with its colour if it is an area without a line around it."""
    count = raw.FPDFPage_CountObjects(page)
    if count > _MAX_OBJECTS:
        return
    waiting = [(raw.FPDFPage_GetObject(page, index), _IDENTITY, 0) for index in range(count)]
    seen = 0
    while waiting and seen < _MAX_OBJECTS:
        drawn, matrix, depth = waiting.pop()
        seen += 1
        kind = raw.FPDFPageObj_GetType(drawn)
        if kind == raw.FPDF_PAGEOBJ_PATH:
            color = _color_of(drawn)
            yield from ((points, color) for points in _parts(drawn, _product(_matrix_of(drawn), matrix)))
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            inner = _product(_matrix_of(drawn), matrix)
            number = min(raw.FPDFFormObj_CountObjects(drawn), _MAX_OBJECTS)
            waiting += [(raw.FPDFFormObj_GetObject(drawn, index), inner, depth + 1) for index in range(number)]


def _color_of(path: raw.FPDF_PAGEOBJECT) -> _Color:
    """The colour of an area; None if the path is a line."""
    filled, stroked = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, filled, stroked)
    if stroked.value:
        return None
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    raw.FPDFPageObj_GetFillColor(path, red, green, blue, alpha)
    return (red.value, green.value, blue.value)


def _parts(path: raw.FPDF_PAGEOBJECT, matrix: _Matrix) -> Iterator[_Points]:
    """The lines of a path from one move of the pen to the next."""
    filled, stroked = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, filled, stroked)
    if not (filled.value or stroked.value):
        return
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    points: _Points = []
    for index in range(min(raw.FPDFPath_CountSegments(path), _MAX_OBJECTS)):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = (a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        if kind != raw.FPDF_SEGMENT_LINETO:
            if len(points) > 1:
                yield points
            points = [point]
            continue
        points.append(point)
        if raw.FPDFPathSegment_GetClose(segment):
            points.append(points[0])
    if len(points) > 1:
        yield points


def _matrix_of(drawn: raw.FPDF_PAGEOBJECT) -> _Matrix:
    matrix = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(drawn, matrix)
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _product(inner: _Matrix, outer: _Matrix) -> _Matrix:
    """The matrix that applies `inner` first."""
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)
