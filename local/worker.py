"""Microsoft's Python worker library, driven in a thread of its own.

The library indexes `function_app.py`, invokes its functions and serves their HTTP with uvicorn on the loop that it is
started on. A loop beside the main thread's keeps uvicorn's hands off the signals, and Ctrl-C working while the app's
imports block. The front, which callers talk to, serves on the worker's loop too.
"""

import asyncio
import logging
import re
import sys
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

import azure_functions_runtime as runtime
from azure_functions_runtime.http_v2 import http_coordinator
from uvicorn.config import LOGGING_CONFIG

from local import HostError
from local.invocation import PROTOS, Call, Function, HttpData, Record, Status, invocation, read_function

LOOPBACK = "127.0.0.1"
ACCEPT_SECONDS = 10
STOP_SECONDS = 1.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """The functions that the worker found."""

    functions: Sequence[Function]
    """In the order of the file."""
    http_uri: str | None
    """Where the worker serves HTTP; None where no function streams HTTP."""


class WorkerEnded(HostError):
    """The worker's loop has ended, because its HTTP server gave up."""

    def __init__(self) -> None:
        super().__init__("The worker's HTTP server has ended, and with it this host.")


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
        try:
            return await self.run(_load(directory))
        except WorkerEnded as exc:
            raise HostError("The worker's HTTP server ended while it was starting.") from exc

    async def run[T](self, work: Coroutine[object, object, T]) -> T:
        """Run something on the worker's loop, and return what it returns.

        Raises:
            WorkerEnded: The loop ended before.
        """
        if self.ended.done():
            work.close()
            raise WorkerEnded
        running = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        try:
            await asyncio.wait({running, asyncio.wrap_future(self.ended)}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise WorkerEnded
            return running.result()
        finally:
            running.cancel()

    def invoke(self, call: Call) -> Future[bool]:
        """Start an invocation; the HTTP request of an HTTP function must follow.

        Returns:
            Whether it succeeded; a failure is logged, not raised.
        """
        return asyncio.run_coroutine_threadsafe(_invoke(call), self._loop)

    async def stop(self) -> bool:
        """End everything that runs in the worker.

        Returns:
            False where something did not end in a little more than `STOP_SECONDS`; the thread is then still there.
        """
        if self.ended.done() or not self._thread.is_alive():
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
    request = Record(
        request=Record(worker_init_request=Record(capabilities={}, function_app_directory=str(directory))),
        properties={"host": LOOPBACK, "protos": PROTOS},
    )
    try:
        started = await runtime.worker_init_request(request)
    except SystemExit as exc:
        raise HostError(f"function_app.py ended the process while it was imported (code {exc.code}).") from exc
    if started.result.status != Status.Success:
        failure = started.result.exception
        raise HostError(_in_words(failure.message, failure.stack_trace, directory))
    found = await runtime.functions_metadata_request(Record())
    if found.function_metadata_results is None:
        raise HostError(f"{directory / 'function_app.py'} is missing or has no functions.")
    functions = [
        read_function(each.name, each.function_id, each.raw_bindings) for each in found.function_metadata_results
    ]
    http_uri = started.capabilities.get("HttpUri")
    if http_uri is not None:
        await _until_it_accepts(http_uri)
    elif any(function.trigger == "httpTrigger" for function in functions):
        raise HostError(
            "function_app.py has HTTP triggers but imports no web extension, such as shared.web.http_extension or "
            "azurefunctions.extensions.http.fastapi; this host serves only those that take its requests."
        )
    return App(functions, http_uri)


def _in_words(message: str, trace: str, directory: Path) -> str:
    """Shorten the worker's message to what helps, and add the last line of the app's own that was running."""
    reason = message.partition(" Current sys.path:")[0]
    places = re.findall(rf'File "{re.escape(str(directory))}/([^"]+)", line (\d+)', trace)
    own = [place for place in places if "site-packages" not in place[0]]
    return f"{reason} ({own[-1][0]}, line {own[-1][1]})" if own and " line " not in reason else reason


async def _until_it_accepts(http_uri: str) -> None:
    """Wait for uvicorn, which the library starts in a task without a handle to it."""
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


async def _invoke(call: Call) -> bool:
    try:
        answer = await runtime.invocation_request(invocation(call))
    except (asyncio.CancelledError, SystemExit) as exc:
        if isinstance(call.data, HttpData):
            # The library passes on only what is an Exception; without this its HTTP side would wait for ever.
            with suppress(KeyError):  # unless it has ended already, and its record is gone
                http_coordinator.set_http_response(call.invocation_id, RuntimeError(f"ended by {type(exc).__name__}"))
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        _log.exception("%s %s ended by %s", call.invocation_id, call.function.name, type(exc).__name__)
        return False
    if answer.result.status == Status.Success:
        return True
    failure = answer.result.exception
    # A caller who leaves is no fault; the front says 'cancelled', or the status of a request that was not sent on.
    if not failure.message.startswith(("ClientDisconnect:", "NeverArrived:")):
        _log.error("%s %s failed:\n%s", call.invocation_id, call.function.name, failure.stack_trace.rstrip())
    return False


async def _cancel_everything() -> None:
    # From here on uvicorn would report each cancelled request, and its own end, with a trace; asyncio each connection
    # that the app keeps, which no host tells when to close them.
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()


_LOUD = ("local", "switchboard")


def set_up_logs() -> None:
    """Send everything to stdout, quiet what Microsoft's worker and the servers say about each request."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.WARNING
    )
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.INFO)
    # The worker's own; while it indexes it would print a trace of what becomes our one sentence.
    logging.getLogger("azure.functions").setLevel(logging.CRITICAL)
    logging.getLogger("aiohttp.server").addFilter(_is_our_fault)
    # The library gives uvicorn no configuration, so it takes this one.
    LOGGING_CONFIG["loggers"] = {"uvicorn": {"level": "WARNING"}, "uvicorn.access": {"propagate": False}}
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def show_worker_warnings() -> None:
    """Let the worker speak again once it has indexed the app."""
    logging.getLogger("azure.functions").setLevel(logging.WARNING)


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Drop what aiohttp reports of a caller's malformed bytes (the caller gets its 400) and lost connections."""
    from aiohttp.http_exceptions import HttpProcessingError  # late: benchmarks set up logs where no aiohttp is

    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | ConnectionError))


def _is_news(record: logging.LogRecord) -> bool:
    """Drop uvicorn's copy of an exception that `local.worker` has logged with its function and invocation."""
    trace = record.exc_info[2] if record.exc_info else None
    return not _passed_through_the_worker(trace)


def _passed_through_the_worker(trace: TracebackType | None) -> bool:
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "azure_functions_runtime.http_v2":
            return True
        trace = trace.tb_next
    return False
