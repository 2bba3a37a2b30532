"""Messages of the Model Context Protocol, as a client sends and reads them. Sans-I/O.

Source: Model Context Protocol, revision 2026-07-28, 'Streamable HTTP', 'Tools', 'Caching'; 2025-11-25, 'Transports'.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from shared.chat_types import Json
from shared.runtime.version import VERSION

MODERN = "2026-07-28"
"""The revision without sessions: each request says all that the server has to know."""
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions that begin with `initialize`, newest first."""
CLIENT = {"name": "switchboard", "version": VERSION}
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

META = "io.modelcontextprotocol/"
"""Begins the keys of `_meta`."""
_HEADER_KEY = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_PLAIN = re.compile(r"(?!=\?base64\?)[!-~]([ -~]*[!-~])?|")
"""A value that a header carries as it is."""
_MOST_BLOCKS = 100
_MOST_TEXT = 50_000
"""Characters of a result that the model gets."""
_LARGEST_COMPARED = 4 * _MOST_TEXT
"""Bytes of structured content that is compared with what the blocks say: a longer one is all that the model gets."""


class RpcError(msgspec.Struct, frozen=True):
    """An error that a server answers with."""

    code: int | None = None
    message: str | None = None
    data: Any = None


class _Wrapped(msgspec.Struct, forbid_unknown_fields=True):
    result: str


class Incoming(msgspec.Struct, frozen=True):
    """A message of a server: the answer to a request, or a request or notification of its own."""

    id: int | str | None = None
    method: str | None = None
    result: msgspec.Raw = msgspec.Raw()
    """Empty: there is none."""
    error: RpcError | None = None


class ToolPage(msgspec.Struct, frozen=True, rename="camel"):
    """A page of the list of tools."""

    tools: list[msgspec.Raw] | None
    next_cursor: str | None = None
    ttl_ms: float | None = None


class ListedTool(msgspec.Struct, frozen=True):
    """As much of a tool's definition as tells which one it is."""

    name: Any = None


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    uri: str | None = None
    mime_type: str | None = None
    text: str | None = None


class _Block(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    text: str | None = None
    data: msgspec.Raw = msgspec.Raw()
    json: msgspec.Raw = msgspec.Raw()
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: _Resource | None = None


class _Asked(msgspec.Struct, frozen=True):
    params: dict[str, Any] | None = None


class CallResult(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a call. What is not needed, and what is longer than a model gets, is not parsed."""

    content: list[msgspec.Raw] | None = None
    structured_content: msgspec.Raw = msgspec.Raw()
    is_error: bool | None = None
    result_type: str | None = None
    input_requests: dict[str, _Asked] | None = None

    def text(self) -> str:
        """Make the text for the model: the structured content first, then what the blocks say beside it.

        Nothing that is linked is fetched, and images are only named: a model gets no image as the result of a call.

        Raises:
            msgspec.ValidationError: a block is none.
        """
        structured, content = _compact(self.structured_content), self.content or []
        value = msgspec.json.decode(structured) if 0 < len(structured) <= _LARGEST_COMPARED else None
        with suppress(msgspec.ValidationError):  # a text alone, which servers wrap: small models read it better
            value = structured = msgspec.convert(value, _Wrapped).result
        parts = [structured] if structured else []
        for raw in content[:_MOST_BLOCKS]:
            said = _said(msgspec.json.decode(raw, type=_Block))
            if said and not (structured and (said == value or _is(said, value))):
                parts.append(said)
        if (more := len(content) - _MOST_BLOCKS) > 0:
            parts.append(f"[{more} more parts are left out]")
        return shortened("\n".join(parts)) or "[an empty result]"

    def question(self) -> str:
        """What the server asks the user before it goes on, shortened; empty if it does not say."""
        messages = ((asked.params or {}).get("message") for asked in (self.input_requests or {}).values())
        return " ".join(message for message in messages if isinstance(message, str))[:500]


def shortened(text: str) -> str:
    """Cut a text that is too long for a model, and say so in it."""
    more = len(text) - _MOST_TEXT
    return f"{text[:_MOST_TEXT]}\n[{more:,} more characters are left out]" if more > 0 else text


def digest_of(definition: Mapping[str, Json]) -> str:
    """Compute the SHA-256 of a definition: of its JSON without spaces, keys sorted, absent ones left out."""
    return sha256(msgspec.json.encode(definition, order="sorted")).hexdigest()


def defined(tool: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a tool's digest is made of: all that says what the tool is and does."""
    keys = ("name", "description", "inputSchema", "outputSchema", "annotations")
    return {key: tool[key] for key in keys if tool.get(key) is not None}


def request(number: int, method: str, params: Mapping[str, Json], *, modern: bool) -> bytes:
    """Make the body of a request."""
    meta = {
        "_meta": {
            f"{META}protocolVersion": MODERN,
            f"{META}clientInfo": CLIENT,
            f"{META}clientCapabilities": {},
        }
    }
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **(meta if modern else {})}}
    return msgspec.json.encode(body)


def header_value(value: str) -> str:
    """Write a value so that a header can carry it. Source: 'Streamable HTTP', 'Value Encoding'."""
    return value if _PLAIN.fullmatch(value) else f"=?base64?{b64encode(value.encode()).decode()}?="


def read_header_value(value: str | None) -> str | None:
    """Read such a value; None if there is none, or it cannot be decoded."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except ValueError:
        return None


def header_parameters(schema: Mapping[str, Json]) -> dict[tuple[str, ...], str] | None:
    """Find the parameters that headers repeat: the name of the header by the path to the parameter.

    Returns:
        None if a header is not declared as the protocol wants: such a tool is not to be used.
    """
    found = dict(_declared(schema, ()))
    names = [name.lower() for name in found.values()]
    declared = msgspec.json.encode(schema).count(f'"{_HEADER_KEY}":'.encode())
    return found if declared == len(found) == len({*names}) else None


def parameter_headers(declared: Mapping[tuple[str, ...], str], arguments: Mapping[str, Json]) -> dict[str, str]:
    """Make the headers that repeat arguments of a call."""
    headers: dict[str, str] = {}
    for path, name in declared.items():
        value: Json = {**arguments}
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str | int):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            headers[f"Mcp-Param-{name}"] = header_value(text)
    return headers


def _declared(schema: Mapping[str, Json], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    properties = schema.get("properties")
    for key, value in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(value, dict):
            continue
        name = value.get(_HEADER_KEY)
        is_simple = value.get("type") in ("string", "integer", "boolean")
        if isinstance(name, str) and _TOKEN.fullmatch(name) and is_simple:
            yield (*path, key), name
        yield from _declared(value, (*path, key))


def _said(block: _Block) -> str:
    match block.type:
        case "text":
            return block.text or ""
        case "json":
            return _compact(block.json) or _compact(block.data)
        case "resource" if block.resource and block.resource.text is not None:
            return f"{block.resource.uri or ''}\n{block.resource.text}"
        case "resource_link":
            return f"[a link: {block.name or ''} {block.uri or ''}]"
        case "image" | "audio" | "resource":
            kind = block.mime_type or (block.resource and block.resource.mime_type) or ""
            return f"[{block.type} {kind}, which is not shown]"
        case _:
            return ""


def _compact(raw: msgspec.Raw) -> str:
    """Write JSON without spaces if it is short, else as it is; empty if there is none."""
    data = bytes(raw)
    if data in (b"", b"null"):
        return ""
    short = msgspec.json.encode(msgspec.json.decode(data)) if len(data) <= _LARGEST_COMPARED else data
    return short.decode("utf-8", "replace")


def _is(text: str, value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Whether a text is a value, or its JSON: servers give it for older clients, and wrap a text as `result`."""
    if value == {"result": text}:
        return True
    if value is None or len(text) > _LARGEST_COMPARED:
        return False
    try:
        return msgspec.json.decode(text) == value
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
