"""Ctrl-C and SIGTERM, at every moment."""

import os
import signal
import socket
from pathlib import Path
from textwrap import dedent

import pytest

from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.local.small_apps import write_app

APP = """
@app.route(route="endless", methods=["GET"])
async def endless(req: Request) -> StreamingResponse:
    async def body():
        try:
            yield "begun"
            await asyncio.sleep(600)
        finally:
            print("the stream was closed", flush=True)

    return StreamingResponse(body(), media_type="text/plain")


@app.route(route="blocks", methods=["GET"])
def blocks(req: Request) -> JSONResponse:
    import time

    print("blocking", flush=True)
    time.sleep(600)


@app.route(route="blocks-the-loop", methods=["GET"])
async def blocks_the_loop(req: Request) -> JSONResponse:
    import time

    print("blocking", flush=True)
    time.sleep(600)
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM]
EITHER = one_in(2, SIGNALS)
"""One of them in `make test`, where both take the same way."""
NOISE = ("Traceback", "never retrieved", "was destroyed", "Exception", "CancelledError", "Warning")


def open_stream(host: RunningHost, path: str) -> socket.socket:
    caller = socket.create_connection(("127.0.0.1", host.port), timeout=60)
    caller.sendall(f"GET /api/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return caller


def wait_until_refused(host: RunningHost) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", host.port), timeout=60).close()
        except ConnectionResetError:
            continue  # it was still taken into the queue of the socket that was just closed
        except ConnectionRefusedError:
            return


def started(app: Path) -> RunningHost:
    host = RunningHost(app, {}, ("--port", "0"))
    host.wait_for("Switchboard is ready")
    return host


def assert_quiet(host: RunningHost) -> None:
    assert [word for word in NOISE if word in host.log()] == []


@pytest.mark.parametrize("number", SIGNALS)
def test_an_idle_host_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    host = started(write_app(tmp_path, APP))
    assert host.stop(number) == 0
    assert_quiet(host)


def test_an_open_stream_is_closed_after_a_grace(tmp_path: Path) -> None:
    host = started(write_app(tmp_path, APP))
    with open_stream(host, "endless") as caller:
        assert caller.recv(1000)
        assert host.stop() == 0
    assert "the stream was closed" in host.log()
    assert "endless GET " in host.log()
    assert_quiet(host)


@pytest.mark.parametrize(("number", "grace"), [(signal.SIGINT, 3), (signal.SIGTERM, 30)])
def test_a_stream_that_ends_within_the_grace_is_complete(tmp_path: Path, number: signal.Signals, grace: int) -> None:
    # After SIGTERM the Functions host, too, gives streams 30 seconds.
    source = """
    @app.route(route="short", methods=["GET"])
    async def short(req: Request) -> StreamingResponse:
        async def body():
            yield "begun"
            while not os.path.exists("stopping"):
                await asyncio.sleep(0.01)
            yield "ended"

        return StreamingResponse(body(), media_type="text/plain")
    """
    host = started(write_app(tmp_path, source))
    with open_stream(host, "short") as caller:
        received = caller.recv(1000)
        host.process.send_signal(number)
        wait_until_refused(host)
        host.wait_for(f"running requests have {grace} seconds to end")
        (tmp_path / "stopping").touch()
        while part := caller.recv(1000):
            received += part
    assert received.endswith(b"5\r\nended\r\n0\r\n\r\n")
    assert host.wait() == 0
    host.wait_for(r"short GET 200 \d+ ms")


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    host = started(write_app(tmp_path, APP))
    with open_stream(host, "endless") as caller:
        assert caller.recv(1000)
        host.process.send_signal(signal.SIGINT)
        wait_until_refused(host)
        host.process.send_signal(signal.SIGINT)
        assert host.wait() == 0
    assert "the stream was closed" not in host.log()
    assert_quiet(host)


@pytest.mark.parametrize("path", one_in(2, ["blocks-the-loop", "blocks"]))
def test_a_function_that_blocks_for_ever_does_not_hold_the_host(tmp_path: Path, path: str) -> None:
    host = started(write_app(tmp_path, APP))
    with open_stream(host, path):
        host.wait_for("blocking")
        assert host.stop() == 0
    assert_quiet(host)


@pytest.mark.parametrize("number", EITHER)
def test_a_signal_while_the_app_is_imported_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    source = """
    import time

    print("importing", flush=True)
    time.sleep(600)
    """
    host = RunningHost(write_app(tmp_path, source), {}, ("--port", "0"))
    host.wait_for("importing")
    assert host.stop(number) == 0
    assert_quiet(host)


@pytest.mark.parametrize("number", EITHER)
def test_a_signal_while_the_health_route_is_asked_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    source = """
    @app.route(route="health", methods=["GET"])
    async def health(req: Request) -> JSONResponse:
        print("asked", flush=True)
        await asyncio.sleep(600)
        return JSONResponse({})
    """
    host = RunningHost(write_app(tmp_path, source), {}, ("--port", "0"))
    host.wait_for("asked")
    assert host.stop(number) == 0
    assert_quiet(host)


@pytest.mark.parametrize("number", EITHER)
def test_a_signal_ends_an_idle_host_though_it_does_not_interrupt_its_waiting(
    tmp_path: Path, number: signal.Signals
) -> None:
    # As one that comes just before the host begins to wait; here another thread takes it.
    source = f"""
    import signal
    import threading

    def signal_yourself():
        open("now").close()  # waits for the other end
        signal.pthread_kill(threading.get_ident(), signal.{number.name})

    threading.Thread(target=signal_yourself, daemon=True).start()
    """
    os.mkfifo(tmp_path / "now")
    host = started(write_app(tmp_path, APP + dedent(source)))
    (tmp_path / "now").open("w").close()
    assert host.wait() == 0
    assert_quiet(host)
