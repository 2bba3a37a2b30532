"""Functions and their invocations, in the records that Microsoft's worker library reads where a host sends protobuf."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

TIMER_DATA: Mapping[str, object] = {"IsPastDue": False}
"""Data of a timer trigger."""
_log = logging.getLogger(__name__)


class Record(SimpleNamespace):
    """Stands for any protobuf message that the library builds or reads."""


class Status(Record):
    """Outcome of a request to the library, with the library's names."""

    Success = "success"
    Failure = "failure"


class _BindingInfo(Record):
    out = 1
    inout = 2
    undefined = 0


_MESSAGES = (
    *("WorkerInitResponse", "WorkerMetadata", "FunctionMetadataResponse", "RpcFunctionMetadata", "RpcRetryOptions"),
    *("InvocationResponse", "ParameterBinding", "TypedData", "RpcException"),
)
PROTOS = SimpleNamespace(StatusResult=Status, BindingInfo=_BindingInfo, **dict.fromkeys(_MESSAGES, Record))
"""Stands for the generated protobuf module."""


class _OneOf(Record):
    """A message with a `oneof`; it knows which of its fields is set."""

    def __init__(self, which: str | None, **fields: object) -> None:
        super().__init__(**fields)
        self._which = which

    def WhichOneof(self, _group: str) -> str | None:  # noqa: N802, the name is protobuf's
        return self._which


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the app, as the worker indexed it."""

    name: str
    """Unique in the app."""
    function_id: str
    """The worker's id of it."""
    binding: Mapping[str, object]
    """The trigger's binding: `type`, `name` (the handler's parameter for the data), and options of the type."""

    @property
    def trigger(self) -> str:
        """The trigger's type, such as `httpTrigger`."""
        return str(self.binding["type"])

    @property
    def methods(self) -> tuple[str, ...] | None:
        """Of an HTTP trigger; None for all."""
        return tuple(cast("Sequence[str]", self.binding.get("methods") or ())) or None

    @property
    def source(self) -> str | None:
        """The queue that this host polls for it, or its schedule, in words; None if there is none."""
        if self.trigger == "queueTrigger":
            return f"queue {self.text('queueName')}"
        if self.trigger == "timerTrigger":
            return f"schedule {self.text('schedule')}"
        return None

    def text(self, key: str) -> str:
        """A value of the binding, empty where there is none."""
        return str(self.binding.get(key) or "")


@dataclass(frozen=True, slots=True)
class HttpData:
    """Data of an HTTP trigger; everything else is in the HTTP request, which is sent to the worker separately."""

    method: str
    """As sent."""
    url: str
    """As sent."""
    parameters: Mapping[str, str]
    """The route's."""


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation."""

    invocation_id: str
    """A UUID."""
    function: Function
    """The function to invoke."""
    data: HttpData | str | bytes | Mapping[str, object]
    """The data that the trigger passes to the function; a mapping is passed as JSON."""
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    """Facts about the data, by the host's names for them."""
    trace_parent: str = ""
    """The `traceparent` header, or empty."""
    trace_state: str = ""
    """The `tracestate` header, or empty."""


def read_function(name: str, function_id: str, raw_bindings: Sequence[str]) -> Function:
    """Find the trigger among the bindings that the worker lists."""
    bindings = [cast("dict[str, object]", json.loads(binding)) for binding in raw_bindings]
    return Function(name, function_id, next(each for each in bindings if str(each["type"]).lower().endswith("trigger")))


def invocation(call: Call) -> Record:
    """The request that invokes a function."""
    trigger = _OneOf("data", name=call.function.text("name"), data=_typed(call.data))
    return Record(
        request=Record(
            invocation_request=Record(
                invocation_id=call.invocation_id,
                function_id=call.function.function_id,
                input_data=[trigger],
                trigger_metadata={
                    name: _OneOf("json", json=json.dumps(value)) for name, value in call.metadata.items()
                },
                trace_context=Record(trace_parent=call.trace_parent, trace_state=call.trace_state, attributes={}),
                retry_context=Record(retry_count=0, max_retry_count=0, exception=None),
            )
        )
    )


async def succeeds(call: Call, invoke: Callable[[Call], Future[bool]]) -> bool:
    """Invoke a function, log how it ended, and return whether it succeeded.

    Args:
        call: what to invoke.
        invoke: starts an invocation in the worker; its result says whether it succeeded.
    """
    began = time.monotonic()
    outcome = "cancelled"
    try:
        succeeded = await asyncio.wrap_future(invoke(call))
        outcome = "succeeded" if succeeded else "failed"
    finally:
        milliseconds = round((time.monotonic() - began) * 1000)
        _log.info("%s %s %s %d ms", call.invocation_id, call.function.name, outcome, milliseconds)
    return succeeded


def _typed(data: HttpData | str | bytes | Mapping[str, object]) -> _OneOf:
    match data:
        case Mapping():
            return _OneOf("json", json=json.dumps(data))
        case str():
            return _OneOf("string", string=data)
        case bytes():
            return _OneOf("bytes", bytes=data)
        case HttpData():
            http = Record(
                method=data.method,
                url=data.url,
                params=dict(data.parameters),
                headers={},  # These three reach the function in the HTTP request itself.
                query={},
                body=_OneOf(None),
                identities=[],
            )
            return _OneOf("http", http=http)
