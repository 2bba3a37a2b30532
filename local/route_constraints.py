"""The constraints of `{name:constraint}` in a route, as ASP.NET Core's template matcher knows them.

`datetime` is left out: what .NET accepts as a date cannot be told from here.
"""

import re
from collections.abc import Callable, Mapping
from uuid import UUID

from local.errors import HostError

type Check = Callable[[str], bool]

_LONG = 2**63
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,30}\s*")
_DECIMAL = re.compile(r"\s*[+-]?([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)\s*")
_FLOAT = re.compile(r"\s*[+-]?([0-9][0-9,]*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_LETTERS = re.compile("[A-Za-z]*")


def build_check(function: str, name: str, arguments: str) -> Check:
    """Make the check that a constraint stands for.

    Args:
        function: whose route it is, for the error.
        name: the constraint's.
        arguments: what stands in its parentheses.

    Raises:
        HostError: it is unknown, or its arguments are wrong.
    """
    build = _CONSTRAINTS.get(name)
    if build is None:
        known = ", ".join(_CONSTRAINTS)
        raise HostError(f"Function {function}: the constraint '{name}' in its route is not one of {known}.")
    try:
        return build(arguments)
    except (ValueError, re.error) as exc:
        raise HostError(f"Function {function}: '{name}({arguments})' in its route cannot be read.") from exc


def _between(low: int, high: int) -> Check:
    return lambda value: _INTEGER.fullmatch(value) is not None and low <= int(value) <= high


def _long_enough(low: int, high: int) -> Check:
    return lambda value: low <= len(value) <= high


def _length(arguments: str) -> Check:
    low, _, high = arguments.partition(",")
    return _long_enough(int(low), int(high or low))


def _range(arguments: str) -> Check:
    low, high = arguments.split(",")
    return _between(int(low), int(high))


def _full(pattern: re.Pattern[str]) -> Check:
    return lambda value: pattern.fullmatch(value) is not None


def _regex(arguments: str) -> Check:
    pattern = re.compile(arguments, re.IGNORECASE)
    return lambda value: pattern.search(value) is not None


def _is_bool(value: str) -> bool:
    return value.strip().lower() in {"true", "false"}


def _is_guid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True


_CONSTRAINTS: Mapping[str, Callable[[str], Check]] = {
    "int": lambda _: _between(-(2**31), 2**31 - 1),
    "long": lambda _: _between(-_LONG, _LONG - 1),
    "bool": lambda _: _is_bool,
    "decimal": lambda _: _full(_DECIMAL),
    "double": lambda _: _full(_FLOAT),
    "float": lambda _: _full(_FLOAT),
    "guid": lambda _: _is_guid,
    "alpha": lambda _: _full(_LETTERS),
    "length": _length,
    "minlength": lambda low: _long_enough(int(low), _LONG),
    "maxlength": lambda high: _long_enough(0, int(high)),
    "min": lambda low: _between(int(low), _LONG - 1),
    "max": lambda high: _between(-_LONG, int(high)),
    "range": _range,
    "regex": _regex,
    "required": lambda _: bool,
}
