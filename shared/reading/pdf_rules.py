"""Tables that are drawn with ruling lines: the lines of a page become a grid of cells.

Lines that cross make one grid. Where no line parts two neighbours, they are one merged cell, whose text is repeated in
each: so every row and every column is complete.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

MAX_RULES = 400
"""Maximum ruling lines of one direction on a page; drawings and maps have more."""
_MAX_CELLS = 10_000
"""Cells of a table; what has more is graph paper."""
_SNAP = 2.5
"""Distance in points at which lines are taken for the same, or for touching."""
_SHORTEST = 6.0
"""Length in points of the shortest line that is a ruling line."""


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
    joined: list[Rule] = []
    for lane in lanes:
        at = sum(rule.at for rule in lane) / len(lane)
        start = end = None
        for rule in sorted(lane, key=lambda rule: rule.start):
            if start is None or end is None:
                start, end = rule.start, rule.end
            elif rule.start <= end + _SNAP:
                end = max(end, rule.end)
            else:
                joined.append(Rule(at, start, end))
                start, end = rule.start, rule.end
        if start is not None and end is not None:
            joined.append(Rule(at, start, end))
    long = [rule for rule in joined if rule.end - rule.start >= _SHORTEST]
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
