"""The route that a request with a wrong path or method most likely meant."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache

from shared.description.openapi import TableRoute, operations_of
from shared.runtime.host_file import ROUTE_PREFIX

_LONGEST = 100
"""Characters of a path that are compared; no route has more."""


def describe_miss(table: Sequence[TableRoute], method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Describe what a request that no route matched may have meant.

    Args:
        table: The table of routes.
        method: of the request, in capitals.
        path: without the prefix and without slashes around.

    Returns:
        A sentence for the caller, and the methods that the path takes; without methods there is no such path.
    """
    prefix = f"/{ROUTE_PREFIX}".rstrip("/")
    routes = _methods_by_path(table)
    for known, methods in routes.items():
        if _pattern(known).fullmatch(path):
            return f"{method} is not possible here: send {' or '.join(methods)} {prefix}/{known}.", methods
    near = get_close_matches(path[:_LONGEST].lower(), routes, 1) if len(path) <= _LONGEST else []
    nearest = f"The nearest is {' or '.join(routes[near[0]])} {prefix}/{near[0]}. " if near else ""
    return f"There is no such route. {nearest}GET {prefix}/openapi.json lists all.", ()


@cache
def _methods_by_path(table: Sequence[TableRoute]) -> Mapping[str, tuple[str, ...]]:
    """The methods of each path, with the name of each protocol in the routes that pin one."""
    found: dict[str, tuple[str, ...]] = {"": ("GET", "HEAD")}
    for one in operations_of(table):
        for name in one.names or ("",):
            path = one.path.replace("{protocol}", name)
            found[path] = (*found.get(path, ()), one.method)
    return found


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parameters = {r"\{\*\w+\}": ".*", r"\{\w+\}": "[^/]+"}
    pattern = re.sub(r"[^{}*\w/]", lambda mark: re.escape(mark[0]), template)
    for parameter, values in parameters.items():
        pattern = re.sub(parameter, values, pattern)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
