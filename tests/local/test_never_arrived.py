"""Invocations whose HTTP request never reaches the app: it ends them, on Microsoft's own worker library.

In the Functions host each of these held its slot until `functionTimeout`, and then the host restarted the worker.
"""

import asyncio
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from bench.processes import running
from local.limits import Slots
from local.settings_file import Throttle
from tests.local.running_host import RunningHost, host_beside, running_host
from tests.local.small_apps import write_app

APP = """
arrived = 0
together = asyncio.Event()


@app.route(route="any/{*path}")
async def anything(req: Request) -> JSONResponse:
    return JSONResponse(req.path_params)


@app.route(route="together/{count}", methods=["GET"])
async def all_at_once(req: Request) -> JSONResponse:
    global arrived
    arrived += 1
    if arrived == int(req.path_params["count"]):
        together.set()
    await asyncio.wait_for(together.wait(), 50)
    return JSONResponse(True)


@app.route(route="invocations", methods=["GET"])
async def invocations(req: Request) -> JSONResponse:
    async with asyncio.timeout(50):
        while len(running := [task for task in asyncio.all_tasks() if "_invoke" in repr(task)]) > 1:
            await asyncio.sleep(0.05)
    return JSONResponse(len(running))
"""
SLOTS = 5
HELD = "AzureFunctionsJobHost__extensions__http__maxConcurrentRequests"
LEAVES = 500


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_app(tmp_path_factory.mktemp("never-arrived"), APP)


@pytest.fixture(scope="module")
def host(app: Path) -> Iterator[RunningHost]:
    with running_host(app, {HELD: str(SLOTS)}) as host:
        yield host
        assert "Traceback" not in host.log()


async def leave(port: int, seconds: float) -> None:
    """Send a request, and reset the connection so many seconds later."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    own: socket.socket = writer.get_extra_info("socket")
    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.write(b"GET /api/any/left HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asyncio.sleep(seconds)
    writer.transport.abort()


async def test_where_too_many_wait_for_a_slot_the_next_is_refused() -> None:
    slots, invocation = Slots(Throttle(concurrent=1, outstanding=2)), Future[bool]()
    assert await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    assert not await slots.take()
    slots.free_after([invocation])
    assert not waiting.done()
    invocation.set_result(False)
    assert await waiting


async def test_after_500_callers_who_left_at_once_every_slot_is_free(app: Path) -> None:
    async with host_beside(app) as host, aiohttp.ClientSession() as http:
        await asyncio.gather(*(leave(host.port, number % 17 / 1000) for number in range(LEAVES)))
        async with http.get(host.url + "/any/now") as answer:
            assert answer.status == 200
        async with http.get(host.url + "/invocations") as answer:
            assert await answer.json() == 1


async def test_five_bad_requests_hold_five_slots_for_seconds_only(host: RunningHost) -> None:
    async with aiohttp.ClientSession() as http:

        async def ask(path: str, **headers: str) -> int:
            async with http.get(host.url + path, headers=headers) as answer:
                return answer.status

        bad = [{"X-Test": "Zoë"}, {"Cookie": "name=Zoë"}, {"Referer": "https://contoso.com/ü"}] + [{"X-Any": "→"}] * 2
        asked = [asyncio.create_task(ask("/any/bad", **headers)) for headers in bad]
        assert await ask("/any/good") == 200
        assert await asyncio.gather(*asked) == [500] * len(bad)
        assert await asyncio.gather(*(ask(f"/together/{SLOTS}") for _ in range(SLOTS))) == [200] * SLOTS


async def test_what_the_workers_server_refuses_or_never_gets_ends_and_a_late_request_fails(app: Path) -> None:
    async with running("bench.worker_server", {"APP": str(app)}, core=None) as worker:
        address = urlsplit(worker.address)

        async def send(invocation: str, line: bytes, header: bytes = b"X-A: a", function: str = "anything") -> bytes:
            worker.tell(f"invoke {invocation} {function}")
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            lines = (line, b"Host: localhost", b"Connection: close", b"x-ms-invocation-id: " + invocation.encode())
            writer.write(b"\r\n".join([*lines, header, b"", b""]))
            try:
                return await reader.read()
            finally:
                writer.close()

        worker.tell("invoke never anything")
        assert (await send("one", b"FOO /api/any/x HTTP/1.1")).startswith(b"HTTP/1.1 400 ")
        assert (await send("two", b"GET /api/any/x HTTP/1.1", b"X-Test: a\x01b")).startswith(b"HTTP/1.1 400 ")
        assert (await send("good", b"GET /api/any/x HTTP/1.1")).startswith(b"HTTP/1.1 200 ")
        counted = await send("count", b"GET /api/invocations HTTP/1.1", function="invocations")
        assert counted.endswith(b"\r\n\r\n1")
        late = b"GET /api/any/x HTTP/1.1\r\nHost: localhost\r\nx-ms-invocation-id: never\r\n\r\n"
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(late)
        assert (await reader.readline()).startswith(b"HTTP/1.1 500 ")
        writer.close()
