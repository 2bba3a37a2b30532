"""Writes the events of turns and models as JSON, and reads them again.

Events of a kind that follow each other are a list behind the name of their class. Only the classes below are made, so
that what is read can run nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, cast, get_args

import msgspec

from shared import errors
from shared.chat_models import ModelEvent, ModelText
from shared.errors import InternalError, SwitchboardError
from shared.events import ChatEvent, ReasoningDelta, TextDelta

type _Text = TextDelta | ReasoningDelta | ModelText

_TEXTS: tuple[type, ...] = get_args(_Text.__value__)
"""Most of all events: of these only the text is written."""
_EVENTS: Mapping[str, type] = {
    kind.__name__: kind for kind in (*get_args(ChatEvent.__value__), *get_args(ModelEvent.__value__))
}
_ERRORS: Mapping[str, type[SwitchboardError]] = {
    found.__name__: found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, SwitchboardError)
}


def pack[Event: ChatEvent | ModelEvent](events: Iterable[Event]) -> bytes:
    """Write events as JSON."""
    groups = [
        (kind.__name__, [cast("_Text", event).text if kind in _TEXTS else event for event in group])
        for kind, group in groupby(events, type)
    ]
    return msgspec.json.encode(groups, enc_hook=_fields_of)


def unpack(data: bytes) -> list[Any]:
    """Read the events that `pack` has written.

    Raises:
        ValueError: `pack` did not write these bytes, or another version of the app did.
    """
    events = list[Any]()
    try:
        for name, items in msgspec.json.decode(data, type=list[tuple[str, msgspec.Raw]]):
            if (kind := _EVENTS[name]) in _TEXTS:
                events += map(kind, msgspec.json.decode(items, type=list[str]))
            else:
                events += msgspec.json.decode(items, type=list[kind], dec_hook=_error_of)
    except (KeyError, RecursionError) as exc:
        raise ValueError("these are no events") from exc
    return events


def joined[Event: ChatEvent | ModelEvent](events: Iterable[Event]) -> Iterator[Event]:
    """Yield events, with texts of a kind that follow each other as one."""
    for kind, group in groupby(events, type):
        if kind in _TEXTS:
            yield kind("".join(cast("_Text", event).text for event in group))
        else:
            yield from group


def _fields_of(error: object) -> tuple[str, dict[str, Any]]:
    if not isinstance(error, SwitchboardError):
        raise NotImplementedError
    return type(error).__name__, vars(error)


def _error_of(_kind: type, written: tuple[str, dict[str, Any]]) -> SwitchboardError:
    name, fields = written
    kind = _ERRORS.get(name, InternalError)
    error = kind.__new__(kind, fields["message"])
    vars(error).update(fields)
    return error
