"""Tables that are drawn with ruling lines: the lines that are drawn on a page become a grid of cells.

Lines that cross make one grid. Where no line parts two neighbours, they are one merged cell, whose text is repeated in
each: so every row and every column is complete.
"""

import ctypes
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from pypdfium2 import PdfMatrix, PdfPage, raw

MAX_RULES = 400
"""Maximum ruling lines of one direction on a page; drawings and maps have more."""
_MAX_CELLS = 10_000
"""Cells of a table; what has more is graph paper."""
_SNAP = 2.5
"""Distance in points at which lines are taken for the same, or for touching."""
_SHORTEST = 6.0
"""Length in points of the shortest line that is a ruling line."""
_MAX_OBJECTS = 20_000
"""Maximum drawn objects of a page, and points of their paths, that are read; drawings and maps have more."""
_MAX_DEPTH = 3
"""Maximum depth of forms (drawings that are used by others) inside each other."""
_STRAIGHT = 1.0
"""Points by which a straight line may be off."""
_THICKEST = 3.0
"""Points of the thickest ruling line; a thicker one is an area, whose edges may be lines."""

type _Color = tuple[int, int, int] | None
type _Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A ruling line: horizontal, or vertical if its two coordinates are swapped."""

    at: float
    """Where it is: height of a horizontal line, distance from the left of a vertical one. In points, as the others."""
    start: float
    """Where it starts, along itself."""
    end: float
    """Where it ends."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a ruled table."""

    columns: tuple[float, ...]
    """Left edges of the columns, and the right edge of the last one, ascending."""
    rows: tuple[float, ...]
    """Upper edges of the rows, and the lower edge of the last one, descending."""
    cells: tuple[tuple[int, ...], ...]
    """By row and column, the number of the cell there; merged cells have one number."""


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
    if raw.FPDFPage_CountObjects(page) > _MAX_OBJECTS:
        return
    filled, stroked = ctypes.c_int(), ctypes.c_int()
    for drawn in islice(page.get_objects(max_depth=_MAX_DEPTH + 1), _MAX_OBJECTS):
        if drawn.type != raw.FPDF_PAGEOBJ_PATH:
            continue
        raw.FPDFPath_GetDrawMode(drawn.raw, filled, stroked)
        if filled.value or stroked.value:
            matrix, form = drawn.get_matrix(), drawn.container
            while form:
                matrix, form = matrix.multiply(form.get_matrix()), form.container
            color = None if stroked.value else _color_of(drawn.raw)
            yield from ((points, color) for points in _parts(drawn.raw, matrix))


def _color_of(area: raw.FPDF_PAGEOBJECT) -> _Color:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    raw.FPDFPageObj_GetFillColor(area, red, green, blue, alpha)
    return (red.value, green.value, blue.value)


def _parts(path: raw.FPDF_PAGEOBJECT, matrix: PdfMatrix) -> Iterator[_Points]:
    """The lines of a path from one move of the pen to the next."""
    x, y = ctypes.c_float(), ctypes.c_float()
    points: _Points = []
    for index in range(min(raw.FPDFPath_CountSegments(path), _MAX_OBJECTS)):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
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


def merged(rules: Iterable[Rule]) -> list[Rule]:
    """Join pieces of the same line, such as dashes and the edges of neighbouring cells; drop what is too short.

    Returns at most `MAX_RULES` lines; none where there are more.
    """
    lanes: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.at):
        if lanes and rule.at - lanes[-1][-1].at <= _SNAP / 2:
            lanes[-1].append(rule)
        else:
            lanes.append([rule])
    long: list[Rule] = []
    for lane in lanes:
        ends: list[list[float]] = []
        for rule in sorted(lane, key=lambda rule: rule.start):
            if ends and rule.start <= ends[-1][1] + _SNAP:
                ends[-1][1] = max(ends[-1][1], rule.end)
            else:
                ends.append([rule.start, rule.end])
        at = sum(rule.at for rule in lane) / len(lane)
        long += [Rule(at, start, end) for start, end in ends if end - start >= _SHORTEST]
    return long if len(long) <= MAX_RULES else []


def grids(horizontal: Sequence[Rule], vertical: Sequence[Rule]) -> list[Grid]:
    """Return the grids with at least two rows and two columns that the merged lines of a page make."""
    group_of = list(range(len(horizontal) + len(vertical)))
    for i, line in enumerate(horizontal):
        for j, other in enumerate(vertical, start=len(horizontal)):
            if _within(other.at, line) and _within(line.at, other):
                _join(group_of, i, j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, line in enumerate(horizontal):
        groups.setdefault(_root(group_of, i), ([], []))[0].append(line)
    for j, line in enumerate(vertical, start=len(horizontal)):
        groups.setdefault(_root(group_of, j), ([], []))[1].append(line)
    found = (_grid(across, down) for across, down in groups.values() if across and down)
    return [grid for grid in found if grid]


def _grid(across: Sequence[Rule], down: Sequence[Rule]) -> Grid | None:
    columns = _distinct([*(rule.at for rule in down), *_ends(across)])
    across = [*across, *_ended(down, across, columns)]
    rows = _distinct([*(rule.at for rule in across), *_ends(down)])[::-1]
    width = len(columns) - 1
    if len(columns) <= 2 or len(rows) <= 2 or width * len(rows) > _MAX_CELLS:
        return None
    down_at = {right: [rule for rule in down if abs(rule.at - right) <= _SNAP] for right in columns}
    across_at = {bottom: [rule for rule in across if abs(rule.at - bottom) <= _SNAP] for bottom in rows}
    cell_of = list(range(width * (len(rows) - 1)))
    for row, (top, bottom) in enumerate(pairwise(rows)):
        for column, (left, right) in enumerate(pairwise(columns)):
            place = row * width + column
            if column + 1 < width and not _is_drawn(down_at[right], (bottom + top) / 2):
                _join(cell_of, place, place + 1)
            if row + 2 < len(rows) and not _is_drawn(across_at[bottom], (left + right) / 2):
                _join(cell_of, place, place + width)
    roots = [_root(cell_of, place) for place in range(len(cell_of))]
    cells = tuple(tuple(roots[row * width : (row + 1) * width]) for row in range(len(rows) - 1))
    return Grid(tuple(columns), tuple(rows), cells)


def _ended(down: Sequence[Rule], across: Sequence[Rule], columns: Sequence[float]) -> Iterator[Rule]:
    """The lower edges of cells below which several vertical lines begin, where no line is drawn."""
    ended = [rule for rule in down if not any(abs(rule.end - other.at) <= 2 * _SNAP for other in across)]
    for rule in ended:
        if sum(abs(rule.end - other.end) <= _SNAP for other in ended) > 2:  # one may end anywhere
            place = bisect_left(columns, rule.at - _SNAP)
            yield Rule(rule.end, columns[max(place - 1, 0)], columns[min(place + 1, len(columns) - 1)])


def _ends(rules: Sequence[Rule]) -> tuple[float, float]:
    """The outer edges of a grid, which often are not drawn."""
    return min(rule.start for rule in rules), max(rule.end for rule in rules)


def _distinct(places: Iterable[float]) -> list[float]:
    """Places in ascending order; of those that are closer than a line is thick, the first."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > _SNAP:
            kept.append(place)
    return kept


def _is_drawn(rules: Sequence[Rule], middle: float) -> bool:
    return any(rule.start <= middle <= rule.end for rule in rules)


def _within(place: float, rule: Rule) -> bool:
    return rule.start - _SNAP <= place <= rule.end + _SNAP


def _root(parents: list[int], member: int) -> int:
    while parents[member] != member:
        parents[member] = parents[parents[member]]
        member = parents[member]
    return member


def _join(parents: list[int], one: int, other: int) -> None:
    one, other = sorted((_root(parents, one), _root(parents, other)))
    parents[other] = one
