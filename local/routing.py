"""Route templates, and which function answers a path, as the Azure Functions host decides it.

Sources: `WebScriptHostHttpRoutesManager` of Azure/azure-functions-host, and that host running (HEAD is a 405 on a route
without it, also if it has GET; any other wrong method is a 404). Here literal segments come before parameters, and
longer templates before shorter ones. The Functions host tries them in the order of the functions' names
(Azure/azure-functions-host, issue 9876): where routes of an app overlap, the names have to give the same order.
Constraints such as `{id:int}` are refused: no route of this app has one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import unquote

from local import HostError

LONGEST_PATH = 200
"""Characters of a path that are logged, and of one that is compared with the routes."""
_PARAMETER = re.compile(r"\{((?:[^{}]|\{\{|\}\})*)\}")
_NAME_AND_REST = re.compile(r"(\*{0,2})([A-Za-z_][\w-]*)(.*?)(\?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `{name}` of a template."""

    name: str
    """The key of its value."""
    catch_all: bool
    """`{*name}`: the rest of the path, which may be empty."""
    optional: bool
    """`{name?}`."""


@dataclass(frozen=True, slots=True)
class Route:
    """One function's address."""

    function: str
    """Its name."""
    template: str
    """With the prefix, without slashes around."""
    methods: frozenset[str] | None
    """In capitals; None accepts all."""
    pattern: re.Pattern[str]
    """Of the whole path; one group a parameter."""
    parameters: tuple[Parameter, ...]
    """In the order of the groups."""
    rank: tuple[tuple[int, int, str], ...]
    """Lower comes first."""

    def read(self, path: str) -> dict[str, str] | None:
        """Return the parameters' values if this decoded path matches, whatever the method."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        pairs = zip(self.parameters, found.groups(), strict=True)
        return {parameter.name: value for parameter, value in pairs if value}


@dataclass(frozen=True, slots=True)
class Matched:
    """A function answers."""

    function: str
    """Its name."""
    parameters: Mapping[str, str]
    """Decoded once; those that are absent from the path are left out."""


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The path is known, HEAD is not."""

    allowed: tuple[str, ...]
    """For the `Allow` header."""


def build_route(function: str, prefix: str, template: str, methods: Sequence[str] | None) -> Route:
    """Read a route's template.

    Args:
        function: the function's name.
        prefix: of `host.json`, may be empty.
        template: as written in the decorator; may be empty, which stands for the function's name.
        methods: None for all.

    Raises:
        HostError: the template uses something that Functions or this host does not know.
    """
    whole = "/".join(part for part in (prefix, template.strip("/") or function) if part)
    pattern, closing, parameters, rank = "", "", list[Parameter](), list[tuple[int, int, str]]()
    for segment in whole.split("/"):
        expression, found = _read_segment(function, segment)
        parameters += found
        rank.append(_rank(segment, found))
        separator = "/" if pattern else ""
        if len(found) == 1 and (found[0].catch_all or found[0].optional):
            pattern += f"(?:{separator}{expression}"
            closing += ")?"
        elif closing:
            raise HostError(f"Function {function}: an optional part must come last in the route '{whole}'.")
        else:
            pattern += separator + expression
    trailing = "" if parameters and parameters[-1].catch_all else "/?"
    accepted = None if methods is None else frozenset(method.upper() for method in methods)
    compiled = re.compile(pattern + closing + trailing, re.IGNORECASE | re.DOTALL)
    # The sentinel puts a longer template before its own beginning.
    return Route(function, whole, accepted, compiled, tuple(parameters), (*rank, (9, 0, "")))


def find(routes: Sequence[Route], method: str, path: str) -> Matched | NotAllowed | None:
    """Choose the function for a request.

    Args:
        routes: sorted by `rank`.
        method: as sent.
        path: decoded, see `decode_path`.

    Returns:
        None where the Functions host answers 404.
    """
    for route in () if is_of_host(path) else routes:
        parameters = route.read(path.removeprefix("/"))
        if parameters is None:
            continue
        if route.methods is None or method.upper() in route.methods:
            return Matched(route.function, parameters)
        if method.upper() == "HEAD":
            return NotAllowed(tuple(sorted(route.methods)))
    return None


def is_of_host(path: str) -> bool:
    """Whether a decoded path is one of those that the host keeps for itself and its keys."""
    return re.match(r"/?(admin|runtime)(/|$)", path, re.IGNORECASE) is not None


_NOT_SPOKEN = Path(__file__).parents[1] / "shared" / "triggers" / "other_paths.json"
"""What the app says of paths of protocols that are not spoken, below its prefix."""


def hint_for(routes: Sequence[Route], path: str) -> str:
    """Say what a decoded path that is no route most likely meant; empty if nothing is like it."""
    bare = path.strip("/")
    known = json.loads(_NOT_SPOKEN.read_bytes()).items() if len(path) < LONGEST_PATH and _NOT_SPOKEN.exists() else ()
    said = next((sentence for foreign, sentence in known if re.fullmatch(foreign, bare, re.IGNORECASE)), "")
    near = "" if said else nearest(routes, path)
    return said or (near and f"The nearest route is {near}.")


def nearest(routes: Sequence[Route], path: str) -> str:
    """Return the methods and the address of the route that is most like a decoded path; empty if none is."""
    by_template = {route.template: route for route in routes}
    found = get_close_matches(path.strip("/"), by_template, 1, cutoff=0.5) if len(path) < LONGEST_PATH else []
    methods = sorted(by_template[found[0]].methods or {"any method"}) if found else []
    return f"{' or '.join(methods)} /{found[0]}" if found else ""


def decode_path(raw: str) -> str:
    """Decode a raw path as Kestrel does: once, `%2F` and invalid UTF-8 kept as they are, dot segments resolved."""
    guarded = re.sub("%2f", lambda escape: f"%25{escape[0][1:]}", raw, flags=re.IGNORECASE)
    decoded = unquote(guarded, errors="surrogateescape")
    text = re.sub("[\udc80-\udcff]", lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", decoded)
    kept: list[str] = []
    for segment in text.split("/"):
        if segment == "..":
            del kept[max(1, len(kept) - 1) :]
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept) + ("/" if text.endswith(("/.", "/..")) else "")


def _rank(segment: str, found: Sequence[Parameter]) -> tuple[int, int, str]:
    if not found or not segment.startswith("{"):
        return (0, 0, segment.lower())
    return (2 if found[0].catch_all else 1, 0, "")


def _read_segment(function: str, segment: str) -> tuple[str, list[Parameter]]:
    expression, parameters, end = "", list[Parameter](), 0
    for token in _PARAMETER.finditer(segment):
        parameter = _read_parameter(function, token[1].replace("{{", "{").replace("}}", "}"))
        if (parameter.catch_all or parameter.optional) and token[0] != segment:
            raise HostError(f"Function {function}: {token[0]} must be a whole segment of the route.")
        parameters.append(parameter)
        expression += re.escape(segment[end : token.start()]) + ("(.*)" if parameter.catch_all else "([^/]+)")
        end = token.end()
    rest = segment[end:]
    if "{" in rest or "}" in rest:
        raise HostError(f"Function {function}: the route's segment '{segment}' has a brace without its partner.")
    return expression + re.escape(rest), parameters


def _read_parameter(function: str, text: str) -> Parameter:
    parts = _NAME_AND_REST.fullmatch(text)
    if parts is None:
        raise HostError(f"Function {function}: '{{{text}}}' in its route is not a parameter.")
    stars, name, rest, optional = parts.groups()
    if rest:
        raise HostError(f"Function {function}: this host does not know '{rest}' in the route's '{{{text}}}'.")
    return Parameter(name, bool(stars), optional is not None)
