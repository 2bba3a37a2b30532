"""Microsoft's Python worker library, driven in a thread of its own.

The library indexes `function_app.py`, invokes its functions and serves their HTTP with uvicorn on the loop that it is
started on. A loop beside the main thread's keeps uvicorn's hands off the signals, and Ctrl-C working while the app's
imports block.
"""

import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlsplit

import azure_functions_runtime as runtime
from azure_functions_runtime.http_v2 import http_coordinator

from local.errors import HostError

LOOPBACK = "127.0.0.1"
ACCEPT_SECONDS = 10
STOP_SECONDS = 1.5

_log = logging.getLogger(__name__)


class _Record(SimpleNamespace):
    """Stands for any protobuf message that the library builds."""


class _StatusResult(_Record):
    Success = "success"
    Failure = "failure"


class _BindingInfo(_Record):
    out = 1
    inout = 2
    undefined = 0


_MESSAGES = (
    *("WorkerInitResponse", "WorkerMetadata", "FunctionMetadataResponse", "RpcFunctionMetadata", "RpcRetryOptions"),
    *("InvocationResponse", "ParameterBinding", "TypedData", "RpcException"),
)
_PROTOS = SimpleNamespace(StatusResult=_StatusResult, BindingInfo=_BindingInfo, **dict.fromkeys(_MESSAGES, _Record))


class _OneOf(_Record):
    """A message with a `oneof`: answers which of its fields is set."""

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
    """What the worker knows it by."""
    trigger: str
    """The trigger's type, such as `httpTrigger`."""
    parameter: str
    """The handler's parameter that takes the trigger's data."""
    route: str
    """Of an HTTP trigger, without the prefix; may be empty."""
    methods: tuple[str, ...] | None
    """Of an HTTP trigger; None for all."""


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of an HTTP function; everything else is in the HTTP request that is sent on beside it."""

    invocation_id: str
    """A UUID."""
    function: Function
    """What to invoke."""
    method: str
    """As sent."""
    url: str
    """As sent."""
    parameters: Mapping[str, str]
    """The route's."""
    trace_parent: str
    """The `traceparent` header, or empty."""
    trace_state: str
    """The `tracestate` header, or empty."""


@dataclass(frozen=True, slots=True)
class App:
    """What the worker found."""

    functions: Sequence[Function]
    """In the order of the file."""
    http_uri: str | None
    """Where the worker serves HTTP; None where no function streams HTTP."""


class Worker:
    """The library and the thread that its loop runs in; use `start`, `invoke`, `stop` in this order."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="functions-worker", daemon=True)
        self.ended: Future[None] = Future()
        """Done when the loop has ended, by `stop` or because its HTTP server gave up."""
        # One that waits for it may be cancelled; the future itself may not.
        self.ended.set_running_or_notify_cancel()

    async def start(self, directory: Path) -> App:
        """Index the app of a directory and wait until its HTTP server accepts.

        Raises:
            HostError: with the worker's reason, in words.
        """
        self._thread.start()
        loading = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_load(directory), self._loop))
        await asyncio.wait({loading, asyncio.wrap_future(self.ended)}, return_when=asyncio.FIRST_COMPLETED)
        if not loading.done():
            raise HostError("The worker's HTTP server ended while it was starting.")
        return loading.result()

    def invoke(self, call: Call) -> Future[None]:
        """Start an invocation; its HTTP request must follow. A failure is logged, not raised."""
        return asyncio.run_coroutine_threadsafe(_invoke(call), self._loop)

    async def stop(self) -> bool:
        """End everything that runs in the worker.

        Returns:
            False where something did not end in a little more than `STOP_SECONDS`; the thread is then still there.
        """
        if not self._thread.is_alive():
            return True
        asyncio.run_coroutine_threadsafe(_cancel_everything(), self._loop).add_done_callback(
            lambda _: self._loop.call_soon_threadsafe(self._loop.stop)
        )
        await asyncio.wait({asyncio.wrap_future(self.ended)}, timeout=STOP_SECONDS + 0.5)
        if not self.ended.done():
            return False
        self._loop.close()
        return True

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        except SystemExit:
            _log.exception("The worker's HTTP server ended.")
        finally:
            self.ended.set_result(None)


async def _load(directory: Path) -> App:
    sys.path.insert(0, str(directory))
    request = _Record(
        request=_Record(worker_init_request=_Record(capabilities={}, function_app_directory=str(directory))),
        properties={"host": LOOPBACK, "protos": _PROTOS},
    )
    try:
        started = await runtime.worker_init_request(request)
    except SystemExit as exc:
        raise HostError(f"function_app.py ended the process while it was imported (code {exc.code}).") from exc
    if started.result.status != _StatusResult.Success:
        failure = started.result.exception
        raise HostError(_in_words(failure.message, failure.stack_trace, directory))
    found = await runtime.functions_metadata_request(_Record())
    if found.function_metadata_results is None:
        raise HostError(f"{directory / 'function_app.py'} is missing or has no functions.")
    functions = [_function(each.name, each.function_id, each.raw_bindings) for each in found.function_metadata_results]
    http_uri = started.capabilities.get("HttpUri")
    if http_uri is not None:
        await _until_it_accepts(http_uri)
    elif any(function.trigger == "httpTrigger" for function in functions):
        raise HostError(
            "function_app.py has HTTP triggers without azurefunctions.extensions.http.fastapi; "
            "this host serves only those that use its Request and responses."
        )
    return App(functions, http_uri)


def _in_words(message: str, trace: str, directory: Path) -> str:
    """Shorten the worker's message to what helps, and add the last line of the app's own that was running."""
    reason = message.partition(" Current sys.path:")[0]
    places = re.findall(rf'File "{re.escape(str(directory))}/([^"]+)", line (\d+)', trace)
    own = [place for place in places if "site-packages" not in place[0]]
    return f"{reason} ({own[-1][0]}, line {own[-1][1]})" if own and " line " not in reason else reason


def _function(name: str, function_id: str, raw_bindings: Sequence[str]) -> Function:
    bindings = [cast("dict[str, object]", json.loads(binding)) for binding in raw_bindings]
    trigger = next(binding for binding in bindings if str(binding["type"]).lower().endswith("trigger"))
    methods = cast("list[str] | None", trigger.get("methods"))
    return Function(
        name,
        function_id,
        trigger=str(trigger["type"]),
        parameter=str(trigger["name"]),
        route=str(trigger.get("route") or ""),
        methods=tuple(methods) if methods else None,
    )


async def _until_it_accepts(http_uri: str) -> None:
    """Wait for uvicorn, which the library starts as a task and tells nobody about."""
    address = urlsplit(http_uri)
    try:
        async with asyncio.timeout(ACCEPT_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection(address.hostname, address.port)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.01)
                else:
                    writer.close()
                    return
    except TimeoutError as exc:
        raise HostError(f"The worker's HTTP server did not accept within {ACCEPT_SECONDS} seconds.") from exc


async def _invoke(call: Call) -> None:
    try:
        answer = await runtime.invocation_request(_invocation(call))
    except (asyncio.CancelledError, SystemExit) as exc:
        # The library passes on only what is an Exception; without this its HTTP side would wait for ever.
        http_coordinator.set_http_response(call.invocation_id, RuntimeError(f"ended by {type(exc).__name__}"))
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        _log.exception("%s %s ended by %s", call.invocation_id, call.function.name, type(exc).__name__)
        return
    if answer.result.status != _StatusResult.Success:
        failure = answer.result.exception
        # A caller who leaves while the function reads the body is no fault; the front says 'cancelled'.
        if not failure.message.startswith("ClientDisconnect:"):
            _log.error("%s %s failed:\n%s", call.invocation_id, call.function.name, failure.stack_trace.rstrip())


def _invocation(call: Call) -> _Record:
    http = _Record(
        method=call.method,
        url=call.url,
        params=dict(call.parameters),
        headers={},  # These three reach the function in the HTTP request itself.
        query={},
        body=_OneOf(None),
        identities=[],
    )
    trigger = _OneOf("data", name=call.function.parameter, data=_OneOf("http", http=http))
    return _Record(
        request=_Record(
            invocation_request=_Record(
                invocation_id=call.invocation_id,
                function_id=call.function.function_id,
                input_data=[trigger],
                trigger_metadata={},
                trace_context=_Record(trace_parent=call.trace_parent, trace_state=call.trace_state, attributes={}),
                retry_context=_Record(retry_count=0, max_retry_count=0, exception=None),
            )
        )
    )


async def _cancel_everything() -> None:
    # From here on uvicorn would report each cancelled request, and its own end, with a trace.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()
