"""Keeps events and messages as JSON, and makes the same objects of it again.

Only the classes below are made, so that what is read can run nothing. An object is `["d", name, fields]`, a tuple
`["t", items]`, a list `["l", items]`, bytes `["b", base64]`, an error `["e", code, message]` and a dict a dict. `fold`
and encoders then find what they would have found without it.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

import msgspec

from shared import errors, events
from shared.chat_models import ModelEvent
from shared.chat_types import Caption, ImagePart, Passage
from shared.core.attachments import Attachment
from shared.errors import ContentFiltered, InternalError, Overloaded, SwitchboardError
from shared.tools import ToolResult
from shared.tools.calls import KeptCall

_CLASSES: Mapping[str, Callable[..., object]] = {
    made.__name__: made
    for made in (
        *(*get_args(events.ChatEvent.__value__), *get_args(ModelEvent.__value__)),
        *(events.SourceImage, events.DataPoint, events.Thought, events.Usage, events.OpenCall),
        *(ImagePart, Attachment, KeptCall, ToolResult, Passage, Caption),
    )
}
_ERRORS: dict[str, type[SwitchboardError]] = {
    found.__name__: found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, SwitchboardError)
}


def pack(value: object) -> bytes:
    """Make JSON of a value, whatever events and messages it holds."""
    return msgspec.json.encode(_packed(value))


def unpack(data: bytes) -> Any:  # noqa: ANN401 (whatever was packed)
    """Make the value again that `pack` was given.

    Raises:
        ValueError: `pack` did not make these bytes, or another version of the app did.
    """
    try:
        return _unpacked(msgspec.json.decode(data))
    except (TypeError, KeyError, IndexError, RecursionError) as exc:
        raise ValueError("this is no packed value") from exc


def _packed(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case bytes():
            return ["b", b64encode(value).decode()]
        case SwitchboardError():
            results = value.results if isinstance(value, ContentFiltered) else None
            return ["e", type(value).__name__, value.message, _packed(results)]
        case tuple():
            return ["t", [_packed(item) for item in cast("tuple[object, ...]", value)]]
        case list():
            items = cast("list[object]", value)  # the tokens of an answer are texts
            return ["l", items if set(map(type, items)) == {str} else [_packed(item) for item in items]]
        case dict():
            return {key: _packed(item) for key, item in cast("dict[str, object]", value).items()}
        case msgspec.Struct():
            fields = msgspec.structs.asdict(value)
            return ["d", type(value).__name__, {name: _packed(item) for name, item in fields.items()}]
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be packed")


def _unpacked(value: Any) -> Any:  # noqa: ANN401 (whatever was packed)
    if isinstance(value, dict):
        return {key: _unpacked(item) for key, item in cast("dict[str, Any]", value).items()}
    if not isinstance(value, list):
        return value
    kind, *rest = cast("list[Any]", value)
    match kind:
        case "d":
            return _CLASSES[rest[0]](**_unpacked(rest[1]))
        case "b":
            return b64decode(rest[0], validate=True)
        case "t":
            return tuple(map(_unpacked, rest[0]))
        case "l":
            return [*map(_unpacked, rest[0])]
        case "e":
            return _error(_ERRORS.get(rest[0], InternalError), rest[1], _unpacked(rest[2]))
        case _:
            raise ValueError("this is no packed value")


def _error(made: type[SwitchboardError], message: str, results: Any) -> SwitchboardError:  # noqa: ANN401 (any JSON)
    if issubclass(made, ContentFiltered):
        return made(message, results=results)
    if issubclass(made, Overloaded):
        return made(message, retry_after=1)
    return made(message)
