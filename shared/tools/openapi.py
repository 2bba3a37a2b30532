"""Reads operations of an OpenAPI 3 document as tools. Sans-I/O; the document is a stranger's.

`read_operations` works in a process of its own (`shared.reading.sandbox`): 30 kB of YAML can end a process.

References lead within the document only. Bodies are JSON; parameters are in the path, the query and headers. The URL of
the server is the agents file's, never the document's.

Source: OpenAPI Specification 3.0.4 and 3.1.1, 'Operation Object', 'Parameter Object', 'Style Values'.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from shared.chat_types import Json
from shared.tools import WrongArguments
from shared.tools.arguments import referred

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_READING = frozenset({"get", "head"})
_DEEPEST = 24
_TOO_LARGE = "what it takes is too large or nested too deeply"
_MOST_NODES = 5_000
"""Values of one operation's schema, with what references lead to."""
_PLACES = frozenset({"path", "query", "header"})
_NOT_OURS = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "origin"),
        *("expect", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "forwarded", "via"),
    }
)
"""Headers that no parameter sets."""
_NOT_THEIRS = re.compile(
    r"(proxy|sec|x-forwarded|x-original|x-rewrite|x-remote|x-ms-client-principal)-.*|x-forwarded|x-original|x-host"
    r"|x-(http-)?method(-override)?|.*-ip(-address)?|.*-client-ip-.*|keep-alive"
)
"""More of them: other methods, hosts and callers than those of the request, as servers and proxies read them."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PATH = re.compile(r"/(?!/)[^\s\\?#\x00-\x20\x7f]*")
_LARGEST_OPERATION = 100_000
"""Bytes of an operation as JSON."""
_LONGEST_NAMED = 100
"""Characters of a name of the document's that the log gets, on one line."""
_BODY = "body"
_JSON = "application/json"


class CannotUse(Exception):
    """Why an operation cannot be a tool, as the end of a sentence."""


class _Parameter(msgspec.Struct, frozen=True):
    name: str
    """Its name there, and for the model."""
    place: str
    """`path`, `query` or `header`."""
    constant: Any = None
    """Its only value, which no model has to know; None: the model gives it."""
    is_joined: bool = False
    """Whether a list is one value with commas, and not repeated."""


class Call(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes | None


class Operation(msgspec.Struct, frozen=True):
    """One operation of a document."""

    name: str
    """Its `operationId`."""
    method: str
    path: str
    description: str
    schema: dict[str, Any]
    """JSON schema of its arguments: its parameters by their names, and `body`."""
    parameters: tuple[_Parameter, ...]
    media_type: str | None
    """Media type of the body; None: it has none."""

    @property
    def reads(self) -> bool:
        """Whether HTTP says that it changes nothing."""
        return self.method in _READING

    def definition(self) -> dict[str, Json]:
        """Return all that says what the operation is and does, of which its digest is made."""
        places: Json = {parameter.name: [parameter.place, parameter.constant] for parameter in self.parameters}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "method": self.method,
            "path": self.path,
            "parameters": places,
            # Digests that were pinned before stay: the type was not part of them.
            **({} if self.media_type in (None, _JSON) else {"mediaType": self.media_type}),
        }

    def call(self, arguments: Mapping[str, Json]) -> Call:
        """Make the request of a call.

        Raises:
            WrongArguments: a value does not go where it belongs.
        """
        path, query, headers = self.path, list[tuple[str, str]](), dict[str, str]()
        for one in self.parameters:
            value: Json = one.constant if one.constant is not None else arguments.get(one.name)
            if value is None:
                continue
            match one.place:
                case "path":
                    path = path.replace("{" + one.name + "}", _segment(one.name, value))
                case "query":
                    values = value if isinstance(value, list) and not one.is_joined else [value]
                    query += [(one.name, _text(one.name, item)) for item in values]
                case _:
                    headers[one.name] = _header(one.name, value)
        body = arguments.get(_BODY)
        has_body = self.media_type is not None and _BODY in arguments
        if has_body and self.media_type:
            headers["content-type"] = self.media_type
        return Call(self.method.upper(), path, query, headers, msgspec.json.encode(body) if has_body else None)


def load() -> None:
    """Import what `read_operations` needs."""
    from shared.runtime import core_yaml

    core_yaml.parse(b"")


def read_operations(data: bytes, names: Sequence[str], without: str | None) -> tuple[list[bytes], list[str]]:
    """Read the operations of these names in a document in JSON or YAML.

    Args:
        data: The document.
        names: The `operationId` of each.
        without: As in `operation_of`.

    Returns:
        Each operation that can be used as JSON, and a sentence for each that cannot be.

    Raises:
        ValueError: the document is none of OpenAPI 3.
    """
    document = _parsed(data)
    found, problems = list[bytes](), list[str]()
    for name in names:
        try:
            operation = operation_of(document, name, without)
        except CannotUse as why:
            problems.append(f"{name} cannot be used: {why}")
            continue
        encoded = msgspec.json.encode(operation) if operation else b""
        if len(encoded) > _LARGEST_OPERATION:
            problems.append(f"{name} cannot be used: {_TOO_LARGE}")
        elif encoded:
            found.append(encoded)
    return found, problems


def _parsed(data: bytes) -> dict[str, Json]:
    import yaml

    from shared.runtime import core_yaml

    document: Json = None
    with suppress(yaml.YAMLError, UnicodeError, RecursionError, ValueError):
        try:
            document = msgspec.json.decode(data)
        except msgspec.DecodeError:
            document = core_yaml.parse(data)
    if not isinstance(document, dict) or not str(document.get("openapi")).startswith("3."):
        raise ValueError
    return document


def operation_of(document: Mapping[str, Json], name: str, without: str | None = None) -> Operation | None:
    """Read one operation of a document.

    Args:
        document: The OpenAPI document.
        name: The `operationId`.
        without: A parameter that the app sets itself, to sign in.

    Returns:
        None if there is none of that id.

    Raises:
        CannotUse: it needs what is not supported.
    """
    found = next((one for one in _operations(document) if one[3].get("operationId") == name), None)
    if found is None:
        return None
    path, item, method, operation = found
    if not _PATH.fullmatch(path) or {".", ".."} & {*re.split(r"[/\\]", unquote(path))}:
        raise CannotUse("its path does not begin with one slash, or leads elsewhere")
    reader = _Reader(document)
    parameters, properties, required = list[_Parameter](), dict[str, Json](), list[Json]()
    for one in _all_parameters(reader, item, operation):
        parameter, schema = _parameter(one)
        if parameter is None or (without and _plain(parameter.name) == _plain(without)):
            continue
        if parameter.name in properties or parameter.name == _BODY:
            raise CannotUse(f"two of its parameters are called {parameter.name[:_LONGEST_NAMED]!r}")
        parameters.append(parameter)
        if parameter.constant is None:
            properties[parameter.name] = schema
            required += [parameter.name] if one.get("required") is True or parameter.place == "path" else []
    media_type = _add_body(reader, operation, properties, required)
    in_path = {parameter.name for parameter in parameters if parameter.place == "path"}
    if not {*re.findall(r"{(.*?)}", path)} <= in_path:
        raise CannotUse("its path has a parameter that it does not define")
    whole: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    told = (str(operation.get("summary") or ""), str(operation.get("description") or ""))
    return Operation(name, method, path, "\n".join(filter(None, told)), whole, tuple(parameters), media_type)


class _Reader:
    """Follows the references of a document, as far as one operation may need."""

    def __init__(self, document: Mapping[str, Json]) -> None:
        self._document = document
        self._left = _MOST_NODES

    def resolved(self, value: Json, within: tuple[str, ...] = (), depth: int = 0) -> Json:
        """Return a value with what its references lead to. One that leads to itself allows anything.

        Raises:
            CannotUse: a reference leads elsewhere, or there is too much.
        """
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise CannotUse(_TOO_LARGE)
        if isinstance(value, list):
            return [self.resolved(item, within, depth + 1) for item in value]
        if not isinstance(value, dict):
            other: Any = value  # YAML has dates and more
            return other if other is None or isinstance(other, str | int | float) else str(other)
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return {str(key): self.resolved(item, within, depth + 1) for key, item in value.items()}
        if reference in within:
            return {}
        target = referred(self._document, reference)
        if not isinstance(target, dict):
            raise CannotUse("a reference leads out of the document, or nowhere")
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return self.resolved({**target, **beside}, (*within, reference), depth + 1)

    def mapping(self, value: Json) -> dict[str, Json]:
        """Return the same of what has to be a mapping; empty if it is none."""
        found = self.resolved(value)
        return found if isinstance(found, dict) else {}


def _operations(document: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json], str, dict[str, Json]]]:
    """All operations, each with its path, what holds for the path, and its method."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        for method in _METHODS if isinstance(item, dict) else ():
            if isinstance(item, dict) and isinstance(operation := item.get(method), dict):
                yield path, item, method, operation


def _all_parameters(reader: _Reader, item: dict[str, Json], operation: dict[str, Json]) -> list[dict[str, Json]]:
    """The parameters of an operation; its own come in place of those of its path."""
    found: dict[tuple[Json, Json], dict[str, Json]] = {}
    for holder in (item, operation):
        listed = holder.get("parameters")
        for one in listed if isinstance(listed, list) else ():
            parameter = reader.mapping(one)
            found[str(parameter.get("name")), str(parameter.get("in"))] = parameter
    return [*found.values()]


def _parameter(told: dict[str, Json]) -> tuple[_Parameter | None, Json]:
    """Read a parameter, and the schema of its values; None if it is one that is left out."""
    name, place, schema = str(told.get("name")), str(told.get("in")), told.get("schema")
    is_ours = place in _PLACES and not (place == "header" and _is_not_theirs(name))
    if not is_ours or not isinstance(schema, dict):
        if told.get("required") is True and place != "header":
            raise CannotUse(f"its parameter {name[:_LONGEST_NAMED]!r} is in a place or a form that is not supported")
        return None, None
    if schema.get("type") == "object" or told.get("style", "form") not in ("form", "simple"):
        raise CannotUse(f"its parameter {name[:_LONGEST_NAMED]!r} has a form that is not supported")
    choices = schema.get("enum")
    only = choices[0] if isinstance(choices, list) and len(choices) == 1 else schema.get("const")
    is_joined = place != "query" or told.get("explode") is False
    described = {**schema, "description": told["description"]} if told.get("description") else schema
    return _Parameter(name, place, only, is_joined), described


def _plain(name: str) -> str:
    """Return a name of a parameter as servers may compare it: some take `_` for `-`."""
    return name.lower().replace("_", "-")


def _is_not_theirs(header: str) -> bool:
    """Whether no parameter may set a header."""
    name = _plain(header)
    return name in _NOT_OURS or bool(_NOT_THEIRS.fullmatch(name)) or not _HEADER_NAME.fullmatch(header)


def _add_body(
    reader: _Reader, operation: dict[str, Json], properties: dict[str, Json], required: list[Json]
) -> str | None:
    """Add the body to the arguments, and return its media type; None if there is none."""
    body = reader.mapping(operation.get("requestBody"))
    content = body.get("content")
    kinds = content if isinstance(content, dict) else {}
    for kind, media in kinds.items():
        essence = kind.partition(";")[0].strip().lower()
        if essence == _JSON or essence.endswith("+json"):
            schema = media.get("schema") if isinstance(media, dict) else None
            properties[_BODY] = schema if isinstance(schema, dict) else {}
            required += [_BODY] if body.get("required") is True else []
            return essence
    if kinds and body.get("required") is True:
        raise CannotUse("its body is not JSON")
    return None


def _text(name: str, value: Json) -> str:
    """Write a value as a parameter has it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list():
            return ",".join(_text(name, item) for item in value)
        case _:
            raise WrongArguments(f"{name} should be a text, a number, true or false, or a list of them.")


def _segment(name: str, value: Json) -> str:
    text = _text(name, value)
    if text in ("", ".", ".."):
        raise WrongArguments(f"{name} should be a name, and not '{text}'.")
    return quote(text, safe="")


def _header(name: str, value: Json) -> str:
    text = _text(name, value)
    if not (text.isascii() and text.isprintable()):
        raise WrongArguments(f"{name} should have printable ASCII characters only: a header carries it.")
    return text.strip()
