"""The web extension in the host and the worker: requests, answers and streams, and what happens when a side goes.

All of it holds on our own extension and on Microsoft's, so that an app may change from one to the other; in
`make nightly` on older workers too.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from tests.local.running_host import RunningHost, running_host
from tests.local.small_apps import MICROSOFTS_EXTENSION, OUR_EXTENSION, write_app
from tools.setup import find_uv

APP = """
import hashlib

gates = {}
closed = {}


def gate(name):
    return gates.setdefault(name, asyncio.Event())


@app.route(route="open/{name}", methods=["POST"])
async def open_gate(req: Request) -> Response:
    gate(req.path_params["name"]).set()
    return Response(status_code=204)


@app.route(route="parts/{name}", methods=["GET"])
async def parts(req: Request) -> StreamingResponse:
    async def body():
        yield "first\\n"
        await gate(req.path_params["name"]).wait()
        yield "second\\n"

    return StreamingResponse(body(), media_type="text/plain")


@app.route(route="endless/{name}", methods=["GET"])
async def endless(req: Request) -> StreamingResponse:
    name = req.path_params["name"]

    async def body():
        try:
            while True:
                yield "more\\n"
                await asyncio.sleep(0.01)
        finally:
            closed.setdefault(name, asyncio.Event()).set()

    return StreamingResponse(body(), media_type="text/plain")


@app.route(route="closed/{name}", methods=["GET"])
async def is_closed(req: Request) -> JSONResponse:
    await asyncio.wait_for(closed.setdefault(req.path_params["name"], asyncio.Event()).wait(), 50)
    return JSONResponse(True)


@app.route(route="thinks/{name}", methods=["GET"])
async def thinks(req: Request) -> JSONResponse:
    gate(req.path_params["name"]).set()
    while not await req.is_disconnected():
        await asyncio.sleep(0.01)
    closed.setdefault(req.path_params["name"], asyncio.Event()).set()
    return JSONResponse(None)


@app.route(route="reached/{name}", methods=["GET"])
async def reached(req: Request) -> JSONResponse:
    await asyncio.wait_for(gate(req.path_params["name"]).wait(), 50)
    return JSONResponse(True)


@app.route(route="upload/{name}", methods=["POST"])
async def upload(req: Request) -> JSONResponse:
    body = b""
    async for part in req.stream():
        body += part
        gate(req.path_params["name"]).set()
    return JSONResponse({"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()})


@app.route(route="large/{name}", methods=["GET"])
async def large(req: Request) -> StreamingResponse:
    async def body():
        for number in range(500):
            yield bytes([number % 256]) * 100_000
        gate(req.path_params["name"]).set()

    return StreamingResponse(body(), media_type="text/plain")


@app.route(route="is-open/{name}", methods=["GET"])
async def is_open(req: Request) -> JSONResponse:
    return JSONResponse(gate(req.path_params["name"]).is_set())


@app.route(route="refuse", methods=["POST"])
async def refuse(req: Request) -> Response:
    return Response("too large", status_code=413)


@app.route(route="headers", methods=["GET"])
async def headers(req: Request) -> JSONResponse:
    path = req.scope["raw_path"].decode()
    answer = JSONResponse({"headers": req.headers.items(), "query": req.url.query, "path": path})
    answer.headers.append("set-cookie", "a=1")
    answer.headers.append("set-cookie", "b=2")
    return answer


@app.route(route="raises", methods=["GET"])
async def raises(req: Request) -> JSONResponse:
    raise ValueError(f"the reason {req.url.query}")


@app.route(route="cancels-itself", methods=["GET"])
async def cancels_itself(req: Request) -> JSONResponse:
    raise asyncio.CancelledError


@app.route(route="exits", methods=["GET"])
async def exits(req: Request) -> JSONResponse:
    raise SystemExit(3)


@app.route(route="nothing", methods=["GET"])
async def nothing(req: Request) -> JSONResponse:
    return None


@app.route(route="breaks-off", methods=["GET"])
async def breaks_off(req: Request) -> StreamingResponse:
    async def body():
        yield "some"
        raise ValueError("the reason")

    return StreamingResponse(body(), media_type="text/plain")


@app.route(route="synchronous", methods=["GET", "HEAD"])
def synchronous(req: Request) -> JSONResponse:
    return JSONResponse("done")


@app.route(route="empty", methods=["GET"])
async def empty(req: Request) -> Response:
    return Response(status_code=int(req.query_params["status"]))


@app.route(route="records", methods=["GET"])
async def records(req: Request) -> JSONResponse:
    from azure_functions_runtime.http_v2 import http_coordinator

    return JSONResponse(len(http_coordinator._context_references))
"""


OLDER_WORKERS = ("1.1.1", "1.2.1")
"""Releases of azure-functions-runtime before the locked one; of 1.0 and 1.1 the part that serves HTTP is the same."""


@pytest.fixture(scope="module", params=["", *(pytest.param(each, marks=pytest.mark.nightly) for each in OLDER_WORKERS)])
def worker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a release of the worker is, or "" for the one that is installed."""
    if not request.param:
        return ""
    folder = tmp_path_factory.mktemp("worker")
    install = [find_uv(), "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(folder)]
    subprocess.run([*install, f"azure-functions-runtime=={request.param}"], check=True)
    return str(folder)


@pytest.fixture(scope="module", params=[OUR_EXTENSION, MICROSOFTS_EXTENSION])
def extension(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, extension: str, worker: str) -> Iterator[RunningHost]:
    app = write_app(tmp_path_factory.mktemp("extension"), APP, extension=extension)
    # Microsoft's extension is not deployed.
    with running_host(app, {"PYTHONPATH": worker}, python=Path(sys.executable)) as running:
        yield running


@pytest.fixture
async def caller() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        yield session


async def test_the_first_part_arrives_while_the_function_still_works(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    async with caller.get(f"{host.url}/parts/one") as answer:
        assert answer.status == 200
        assert await answer.content.readline() == b"first\n"
        async with caller.post(f"{host.url}/open/one") as opened:
            assert opened.status == 204
        assert await answer.content.read() == b"second\n"


async def test_a_caller_who_leaves_ends_the_stream_in_the_worker(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    async with caller.get(f"{host.url}/endless/left") as answer:
        assert await answer.content.readline() == b"more\n"
        answer.close()
    async with caller.get(f"{host.url}/closed/left") as seen:
        assert await seen.json() is True
    await asyncio.to_thread(host.wait_for, r"endless GET cancelled \d+ ms")


async def test_a_caller_who_leaves_before_the_answer_is_seen_by_the_function(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    asking = asyncio.create_task(caller.get(f"{host.url}/thinks/early"))
    async with caller.get(f"{host.url}/reached/early") as reached:
        assert reached.status == 200
    asking.cancel()
    async with caller.get(f"{host.url}/closed/early") as seen:
        assert await seen.json() is True
    await asyncio.to_thread(host.wait_for, r"thinks GET cancelled \d+ ms")


async def test_an_upload_reaches_the_function_in_parts(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"one"
        async with caller.get(f"{host.url}/reached/upload") as reached:
            assert reached.status == 200
        yield b"two"

    async with caller.post(f"{host.url}/upload/upload", data=parts()) as answer:
        assert (await answer.json())["bytes"] == 6


async def test_a_caller_who_leaves_within_an_upload_is_no_failure(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.Event().wait()

    asking = asyncio.create_task(caller.post(f"{host.url}/upload/abandoned", data=parts()))
    async with caller.get(f"{host.url}/reached/abandoned") as reached:
        assert reached.status == 200
    asking.cancel()
    line = await asyncio.to_thread(host.wait_for, r"(\S+) upload POST cancelled \d+ ms")
    async with caller.get(f"{host.url}/synchronous") as later:
        assert later.status == 200
    assert host.log().count(line.split(" ")[0]) == 1


async def test_ten_megabytes_arrive_unchanged(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    body = bytes(range(256)) * 40_000
    async with caller.post(f"{host.url}/upload/large", data=BytesIO(body)) as answer:
        assert (await answer.json())["sha256"] == sha256(body).hexdigest()


async def test_a_compressed_body_is_passed_on_as_it_is(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    headers = {"Content-Encoding": "gzip"}
    async with caller.post(f"{host.url}/upload/gzip", data=BytesIO(b"not gzip"), headers=headers) as answer:
        assert (await answer.json())["sha256"] == sha256(b"not gzip").hexdigest()


async def test_a_function_can_refuse_a_body_before_the_caller_sends_it(host: RunningHost) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
    writer.write(
        b"POST /api/refuse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\nExpect: 100-continue\r\n\r\n"
    )
    try:
        async with asyncio.timeout(60):
            answer = await reader.readuntil(b"too large")
    finally:
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 413 ")
    await asyncio.to_thread(host.wait_for, r"refuse POST 413 \d+ ms")


def test_a_function_can_refuse_a_body_that_is_on_its_way(host: RunningHost) -> None:
    head = b"POST /api/refuse HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 10000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", host.port), timeout=60) as caller:
        caller.sendall(head + bytes(10_000_000))
        received = b""
        while part := caller.recv(65536):
            received += part
    assert received.startswith(b"HTTP/1.1 413 ")
    assert received.endswith(b"too large")


async def test_a_caller_that_expects_100_continue_gets_it(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    async with caller.post(f"{host.url}/upload/expected", data=b"after the 100", expect100=True) as answer:
        assert (await answer.json())["bytes"] == 13


async def test_headers_path_and_query_reach_the_function_as_sent(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    sent = [("X-Twice", "1"), ("X-Twice", "2"), ("X-MS-Client-Principal", "forged"), ("x-ms-token-aad-id-token", "t")]
    url = URL(f"{host.url}/headers?q=a%20b&q=%2F", encoded=True)
    async with caller.get(url, headers=[*sent, ("x-ms-invocation-id", "mine")]) as got:
        seen = await got.json()
    names = [name for name, _ in seen["headers"]]
    assert [value for name, value in seen["headers"] if name == "x-twice"] == ["1, 2"]
    assert not [name for name in names if name.startswith(("x-ms-client-principal", "x-ms-token-"))]
    assert [value for name, value in seen["headers"] if name == "x-ms-invocation-id"] != ["mine"]
    assert seen["query"] == "q=a%20b&q=%2F"
    assert seen["path"].endswith("/api/headers")
    assert got.headers.getall("set-cookie") == ["a=1", "b=2"]


@pytest.mark.parametrize("name", ["raises", "cancels-itself", "exits", "nothing"])
async def test_a_function_that_fails_gives_a_short_500(
    host: RunningHost, caller: aiohttp.ClientSession, name: str
) -> None:
    async with caller.get(f"{host.url}/{name}") as answer:
        assert answer.status == 500
        assert await answer.text() == "Internal Server Error"


async def test_the_trace_of_a_failure_is_logged_once(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    for which in ("first", "second"):  # what is logged late of the first one is there with the second one
        async with caller.get(f"{host.url}/raises?{which}") as answer:
            assert answer.status == 500
        await asyncio.to_thread(host.wait_for, f"ValueError: the reason {which}")
    assert host.log().count("ValueError: the reason first") == 1


async def test_an_answer_that_breaks_off_is_not_ended_as_if_complete(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    async with caller.get(f"{host.url}/breaks-off") as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()
    await asyncio.to_thread(host.wait_for, r"breaks_off GET broken off \d+ ms")


async def test_a_synchronous_function_works(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    async with caller.get(f"{host.url}/synchronous") as answer:
        assert await answer.json() == "done"


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_has_none(host: RunningHost, caller: aiohttp.ClientSession, status: int) -> None:
    async with caller.get(f"{host.url}/empty?status={status}") as answer:
        assert (answer.status, await answer.read()) == (status, b"")
        assert "Transfer-Encoding" not in answer.headers


async def test_head_gives_the_headers_of_get(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    async with caller.head(f"{host.url}/synchronous") as answer:
        assert (answer.status, answer.headers["Content-Length"], await answer.read()) == (200, "6", b"")


async def test_fifty_streams_run_at_once(host: RunningHost) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as caller:
        answers = await asyncio.gather(*(caller.get(f"{host.url}/parts/fifty") for _ in range(50)))
        firsts = await asyncio.gather(*(answer.content.readline() for answer in answers))
        async with caller.post(f"{host.url}/open/fifty"):
            rests = await asyncio.gather(*(answer.content.read() for answer in answers))
    assert set(firsts) == {b"first\n"}
    assert set(rests) == {b"second\n"}


def test_a_caller_that_does_not_read_holds_up_the_function_and_then_gets_everything(host: RunningHost) -> None:
    with socket.create_connection(("127.0.0.1", host.port), timeout=60) as caller:
        caller.sendall(b"GET /api/large/slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = caller.recv(65536)
        for _ in range(100):  # the host goes on with others meanwhile
            assert exchange(host, b"GET /api/is-open/slow HTTP/1.1\r\nHost: localhost\r\n").endswith(b"false")
        parts = [received]
        while part := caller.recv(1 << 20):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    chunk = b"186a0\r\n%b\r\n"
    assert body == b"".join(chunk % (bytes([number % 256]) * 100_000) for number in range(500)) + b"0\r\n\r\n"


@pytest.mark.parametrize("path", ["parts/http10", "synchronous"])
def test_a_caller_of_http_1_0_gets_no_chunks(host: RunningHost, path: str) -> None:
    opened = exchange(host, b"POST /api/open/http10 HTTP/1.1\r\nHost: localhost\r\n")
    assert opened.startswith(b"HTTP/1.1 204 ")
    head, _, body = exchange(host, b"GET /api/%b HTTP/1.0\r\n" % path.encode()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 ")
    assert b"chunked" not in head
    assert body == (b"first\nsecond\n" if path.startswith("parts") else b'"done"')


def test_a_caller_of_http_1_0_can_upload(host: RunningHost) -> None:
    answer = exchange(host, b"POST /api/upload/http10 HTTP/1.0\r\nContent-Length: 3\r\n", b"abc")
    assert answer.startswith(b"HTTP/1.0 200 ")
    assert b'"bytes":3' in answer


def exchange(host: RunningHost, head: bytes, body: bytes = b"") -> bytes:
    """Send a request on a connection of its own and return everything that comes back."""
    with socket.create_connection(("127.0.0.1", host.port), timeout=60) as caller:
        caller.sendall(head + b"Connection: close\r\n\r\n" + body)
        received = b""
        while part := caller.recv(65536):
            received += part
    return received


async def test_the_worker_keeps_no_records_of_answered_requests_with_our_extension(
    host: RunningHost, caller: aiohttp.ClientSession, extension: str
) -> None:
    async def records() -> int:
        async with caller.get(f"{host.url}/records") as answer:
            return await answer.json()

    before = await records()
    for _ in range(5):
        async with caller.get(f"{host.url}/synchronous") as answer:
            assert answer.status == 200
        async with caller.get(f"{host.url}/raises") as answer:
            assert answer.status == 500
    assert await records() - before == {OUR_EXTENSION: 0, MICROSOFTS_EXTENSION: 11}[extension]
