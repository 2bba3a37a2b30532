"""Ways to spoil a canned answer."""

from collections.abc import Callable

from tests.conformance.canned import Canned
from tests.conformance.reading import Json, at

type Change = Callable[[Canned], None]


def put(*path: str | int, to: Json) -> Change:
    """Change one value in the records."""

    def change(canned: Canned) -> None:
        *way, last = path
        place = at(canned.records, *way)
        match place, last:
            case dict(), str():
                place[last] = to
            case list(), int():
                place[last] = to
            case _:
                raise KeyError(path)

    return change


def drop(*path: str | int) -> Change:
    """Take a key away."""

    def change(canned: Canned) -> None:
        *way, last = path
        place = at(canned.records, *way)
        assert isinstance(place, dict)
        assert isinstance(last, str)
        del place[last]

    return change


def status(number: int) -> Change:
    """Answer with another status."""

    def change(canned: Canned) -> None:
        canned.status = number

    return change


def raw(content: bytes) -> Change:
    """Answer with these bytes."""

    def change(canned: Canned) -> None:
        canned.raw = content

    return change


def first(*records: Json) -> Change:
    """Begin the stream with these."""

    def change(canned: Canned) -> None:
        canned.records[:0] = records

    return change


def without_line(number: int) -> Change:
    """Leave out a line."""

    def change(canned: Canned) -> None:
        del canned.records[number]

    return change


def both(*changes: Change) -> Change:
    """Several changes."""

    def change(canned: Canned) -> None:
        for each in changes:
            each(canned)

    return change
