"""Puts the parts together: settings, worker, routes, front; and ends them in the opposite order."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from local import HostError, greeting
from local.front import CLOSE_SECONDS, Front
from local.proxy import Proxy
from local.rai_service.beside_host import reference_service_if_wanted
from local.routing import Route, build_route
from local.settings_file import HostFile, LocalSettings, apply_local_settings, read_host_file
from local.worker import LOOPBACK, App, Worker, WorkerEnded, set_up_logs, show_worker_warnings

type WhenAsked = Callable[[Callable[[signal.Signals], object] | None], None]

HTTP_TRIGGER = "httpTrigger"
GRACE_SECONDS = {signal.SIGINT: 3.0, signal.SIGTERM: 30.0}
"""Seconds that running requests have to end: after Ctrl-C, and after SIGTERM as in the Functions host."""
STOP_SECONDS = 3.0
"""Seconds for returning unfinished messages to their queues."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command line."""

    directory: Path
    """Where `function_app.py` is; becomes the current directory, as under Core Tools."""
    port: int | None
    """Port to listen on; None: `PORT` or `Host.LocalHttpPort` decides; 0: any free port."""
    question: str
    """For the `curl` line; empty for none."""
    opens: bool = False
    """Whether the app's page is opened in a browser, if it has one."""


def run(options: Options, when_asked: WhenAsked) -> bool:
    """Host an app until asked to stop; in the main thread, the only one that signals can be made to wake.

    Args:
        options: the command line's.
        when_asked: registers what a stop signal does.

    Returns:
        False where something of the app would not end; the process must be ended for it.

    Raises:
        HostError: the app cannot be hosted, or not any longer.
    """
    if not options.directory.is_dir():
        raise HostError(f"{options.directory} is no directory.")
    settings = apply_local_settings(options.directory)
    host_file = read_host_file(options.directory, os.environ)
    port = _choose_port(options.port, settings)
    os.chdir(options.directory)
    os.environ.setdefault("AZURE_FUNCTIONS_ENVIRONMENT", "Development")  # as Core Tools do
    set_up_logs()
    with reference_service_if_wanted():
        return asyncio.run(_until_asked(options, host_file, settings, port, when_asked))


def _choose_port(port: int | None, settings: LocalSettings) -> int:
    if port is not None:
        return port
    wanted = os.environ.get("PORT", "")
    if not wanted:
        return settings.port
    if not (wanted.isascii() and wanted.isdecimal()) or int(wanted) > 65535:
        raise HostError(f"PORT must be a number from 0 to 65535, not '{wanted}'.")
    return int(wanted)


async def _until_asked(
    options: Options, host_file: HostFile, settings: LocalSettings, port: int, when_asked: WhenAsked
) -> bool:
    worker = Worker()
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[signal.Signals] = loop.create_future()
    serving = asyncio.create_task(_serve(options, host_file, settings, port, worker, asked))
    with _woken_by_signals(loop):
        when_asked(lambda number: loop.call_soon_threadsafe(asked.set_result, number))
        try:
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
            serving.cancel()
            await asyncio.wait({serving})
            if not serving.cancelled():
                serving.result()
        finally:
            ended = await worker.stop()
            when_asked(None)
    return ended


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Wake the main thread's loop at each signal, so that the signal's handler runs.

    Python runs handlers between two instructions. A loop that waits runs none, and a signal interrupts the wait only
    if it comes during it, and to this thread: after one that comes just before, an idle loop would wait for ever.
    """
    receiver, sender = socket.socketpair()
    with receiver, sender:
        for end in (receiver, sender):
            end.setblocking(False)
        loop.add_reader(receiver, receiver.recv, 1000)
        signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            loop.remove_reader(receiver)


async def _serve(
    options: Options,
    host_file: HostFile,
    settings: LocalSettings,
    port: int,
    worker: Worker,
    asked: asyncio.Future[signal.Signals],
) -> None:
    """Serve until cancelled; `asked` has the signal that asked for it."""
    app = await worker.start(options.directory)
    show_worker_warnings()
    prefix = host_file.route_prefix
    routes = _routes(app, prefix)
    functions = {function.name: function for function in app.functions}
    # Without HTTP functions there is no address and no route that would need it.
    signs_in = os.environ.get("WEBSITE_AUTH_ENABLED", "").lower() == "true"
    proxy = Proxy(app.http_uri or "", signs_in=signs_in)
    front = Front(
        functions, routes, worker.invoke, proxy, settings.cors, home=f"/{prefix}", throttle=host_file.throttle
    )
    try:
        # On the worker's loop, because handing each token from thread to thread would cost more than passing it on.
        origin = f"http://{LOOPBACK}:{await worker.run(front.start(port))}"
        await _greet(options, app, routes, origin, prefix)
        await _trigger(app, host_file, worker)
        raise WorkerEnded
    finally:
        grace = GRACE_SECONDS[asked.result() if asked.done() else signal.SIGINT]
        # An async function that blocks the worker's loop blocks this too.
        with suppress(TimeoutError, WorkerEnded):
            await asyncio.wait_for(worker.run(front.stop(grace)), grace + 2 * CLOSE_SECONDS)


async def _trigger(app: App, host_file: HostFile, worker: Worker) -> None:
    """Trigger what is not triggered by HTTP, until the worker ends."""
    if not any(function.source for function in app.functions):
        await asyncio.wrap_future(worker.ended)
        return
    from local.triggers import Triggers  # late: it brings Azure's SDK

    triggers = Triggers(app.functions, worker.invoke, host_file.triggers, os.environ)
    running = asyncio.create_task(triggers.run())
    try:
        await asyncio.wait({asyncio.wrap_future(worker.ended), running}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    finally:
        running.cancel()
        await asyncio.wait({running}, timeout=STOP_SECONDS)
        await triggers.aclose()


def _routes(app: App, prefix: str) -> list[Route]:
    return sorted(
        (
            build_route(function.name, prefix, function.text("route"), function.methods)
            for function in app.functions
            if function.trigger == HTTP_TRIGGER
        ),
        key=lambda route: route.rank,
    )


def _say(text: str) -> None:
    """Print a line in one write: the worker's thread logs to the same stream, and between two writes of `print`."""
    print(f"{text}\n", end="", flush=True)


async def _greet(options: Options, app: App, routes: list[Route], origin: str, prefix: str) -> None:
    base = f"{origin}/{prefix}".rstrip("/")
    for line in greeting.list_functions(app.functions, routes):
        _say(line)
    problems, start_with = await greeting.find_problems(base, routes, prefix)
    if problems:
        _say("\n  ".join(["Not everything works yet:", *problems]))
    _say(f"Switchboard is ready: {base}")
    if start_with:
        _say(f"No language model answers. One runs on this machine, start with it: {start_with}")
    page = await greeting.find_page(base, routes, prefix)
    command = greeting.try_line(base, routes, prefix, options.question)
    if command:
        _say(f"Try: {command}")
    if page:
        _say(f"In a browser: {page}")
    if options.opens:
        # A daemon, since some browsers run until their user leaves them.
        threading.Thread(target=greeting.open_page, args=(page,), daemon=True).start()
