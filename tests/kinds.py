"""Tells which tests need nothing but this Python process: `make unit` runs those, and no list has to be kept."""

import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby, product
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

HOSTED = Path(__file__).parent / "app"
"""The tests of the hosted app: none of them is a unit test, so that `make unit` need not even read them."""
UNIT = "unit"
"""The mark that `mark_tests` puts on them."""
READING = "reading"
"""The mark of those among them that read files in processes, as the app does: `make unit` leaves them out."""
STARTERS = frozenset({"subprocess", "Popen", "create_subprocess_exec", "create_subprocess_shell", "LocalRecognition"})
"""The names with which code starts a process. The last one's loads models for seconds: once, for hosted tests too."""
READERS = frozenset({"Sandbox", "sandbox_for_documents", "sandbox_for_uploads"})
"""The names with which code starts processes that read files."""
FOLLOWED = ("tests", "bench", "tools", "evaluation")
"""The packages whose code is searched for them; what the product starts is found by `forbid_processes`."""

_running_unit_test = False


def mark_tests(items: list[pytest.Item]) -> None:
    """Mark each test outside `HOSTED`, and not of a real service, that starts no process, nor do its fixtures.

    Those that only read files get both marks.
    """
    functions = groupby(items, lambda item: (item.parent, getattr(item, "originalname", item.name)))
    for _, cases in functions:  # a function's cases have its fixtures
        first, *others = cases
        elsewhere = HOSTED in first.path.parents or first.get_closest_marker("live")
        if elsewhere or any(reaches(code, STARTERS) for code in _code_of(first)):
            continue
        marks = [UNIT, READING] if any(reaches(code, READERS) for code in _code_of(first)) else [UNIT]
        for item, mark in product((first, *others), marks):
            item.add_marker(mark)


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """Values for `parametrize` of which one in `count`, the first among them, is in `make test`; all are nightly."""
    rest = pytest.mark.nightly
    return [value if place % count == 0 else pytest.param(value, marks=rest) for place, value in enumerate(values)]


def is_unit(item: pytest.Item) -> bool:
    """Whether it has the mark."""
    return item.get_closest_marker(UNIT) is not None


def forbid_processes() -> None:
    """Fail each marked test that starts a process all the same, for the rest of this run."""
    sys.addaudithook(_audit)


def entering(item: pytest.Item) -> None:
    """Say which test runs from now on."""
    global _running_unit_test  # noqa: PLW0603  an audit hook has no other way to know
    _running_unit_test = is_unit(item)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "subprocess.Popen" or not _running_unit_test:
        return
    # Files are read in a process that needs nothing but Python.
    if arguments[0] != "uname" and "shared.reading.sandbox_server" not in arguments[1][-1]:
        raise AssertionError("This test starts a process in a way that tests/kinds.py does not find.")


def _code_of(item: pytest.Item) -> Iterator[FunctionType]:
    """The test's function and those of all its fixtures."""
    if not isinstance(item, pytest.Function):
        return
    found: Any = inspect.unwrap(item.obj)
    yield getattr(found, "__func__", found)
    for name in item.fixturenames:
        # pytest has no public way to the functions behind a test's fixtures
        for definition in item.session._fixturemanager.getfixturedefs(name, item) or ():  # pyright: ignore[reportPrivateUsage]
            function = inspect.unwrap(definition.func)
            yield getattr(function, "__func__", function)


@cache
def reaches(start: FunctionType, wanted: frozenset[str]) -> bool:
    """Whether a function, or one that it can reach by names, uses such a name or a global object of such a class."""
    seen: set[int] = set()
    waiting: list[Any] = [start]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, type):
            waiting += [getattr(member, "__func__", getattr(member, "fget", member)) for member in vars(found).values()]
        elif isinstance(found := inspect.unwrap(found), FunctionType):
            named, values = _used_by(found)
            if wanted & named:
                return True
            waiting += values
    return False


@cache
def _used_by(function: FunctionType) -> tuple[set[str], tuple[Any, ...]]:
    """What a function names, with the classes of global objects among that; and what it can reach of our own."""
    names = _names(function.__code__)
    classes = {type(function.__globals__.get(name)).__name__ for name in names}
    return names | classes, tuple(_values(function, names))


def _names(code: CodeType) -> set[str]:
    """What a function and those within it name."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _values(function: FunctionType, names: set[str]) -> Iterator[Any]:
    """The functions and classes of our own packages behind these names, also behind a module or an object of one."""
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [value for value in values if isinstance(value, ModuleType) and _is_followed(value.__name__)]
    values += [getattr(module, name) for module in modules for name in names if hasattr(module, name)]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in [*values, *cells]:
        found = value if isinstance(value, FunctionType | type) else type(value)
        if _is_followed(found.__module__ or ""):
            yield found


def _is_followed(module: str) -> bool:
    return module.partition(".")[0] in FOLLOWED
