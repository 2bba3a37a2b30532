"""Whatever bytes a caller sends, the host goes on and says nothing of it but a status."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local.proxy import LARGEST_BODY
from tests.local.running_host import RunningHost, running_host
from tests.local.small_apps import write_app

APP = """
@app.route(route="read", methods=["POST"])
async def read(req: Request) -> JSONResponse:
    return JSONResponse(len(await req.body()))


@app.route(route="ignore", methods=["POST"])
async def ignore(req: Request) -> JSONResponse:
    return JSONResponse(None)


@app.route(route="any/{*path}")
async def anything(req: Request) -> JSONResponse:
    return JSONResponse(req.path_params)
"""
WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with running_host(write_app(tmp_path_factory.mktemp("hostile"), APP)) as running:
        yield running
        for noise in ("Traceback", "never retrieved", "Error"):
            assert noise not in running.log()


def exchange(host: RunningHost, sent: bytes, *, hang_up: bool = False) -> bytes:
    """Send bytes, say that no more will come (or hang up), and return what came back until the host closes."""
    with socket.create_connection(("127.0.0.1", host.port), timeout=WAIT_SECONDS) as caller:
        caller.settimeout(WAIT_SECONDS)
        received = b""
        with suppress(ConnectionError):  # the host may have answered, and closed, before it has read all
            caller.sendall(sent)
        with suppress(ConnectionError):
            while not hang_up and (part := caller.recv(65536)):
                received += part
        return received


def assert_alive(host: RunningHost) -> None:
    answer = exchange(host, request(b"POST /api/read HTTP/1.1", b"Content-Length: 2", body=b"ok"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n2")


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join([line, b"Host: localhost", b"Connection: close", *headers, b"", body])


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x00\xff\xfe garbage \x80\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), b"400"),
        (request(b"GET /api/any/" + b"a" * 100_000 + b" HTTP/1.1"), b"400"),
        (request(b"GET /api/any/x HTTP/1.1", b"X-Long: " + b"a" * 100_000), b"400"),
        (request(b"GET /api/any/x HTTP/1.1", *[b"X-Many: " + b"a" * 8000] * 100), b"431"),
        (request(b"GET /api/any/x HTTP/1.1", *[b"X-Many: a"] * 1000), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Content-Length: many"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Content-Length: -1"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Content-Length: 1", b"Content-Length: 2", body=b"ab"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Content-Length: 9" + b"9" * 40), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Transfer-Encoding: nonsense"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Transfer-Encoding: chunked", body=b"zz\r\nno\r\n"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Transfer-Encoding: chunked", body=b"2\r\nabcdef\r\n"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Transfer-Encoding: chunked", body=b"2\r\nab\r\n0\r\n\r\n"), b"200"),
        (request(b"GET /api/any/%FF%zz%C3 HTTP/1.1"), b"200"),
        (request(b"GET /api/any/%00 HTTP/1.1"), b"400"),
        (request(b"GET /api/any/\xe4\xff HTTP/1.1"), b"400"),
        (request(b"GET /api/any/a#b?c HTTP/1.1"), b"200"),
        (request(b"GET http://elsewhere.example/api/any/x HTTP/1.1"), b"200"),
        (request(b"GET //elsewhere.example/api/any/x HTTP/1.1"), b"404"),
        (request(b"OPTIONS * HTTP/1.1"), b"404"),
        (request(b"CONNECT localhost:80 HTTP/1.1"), b"404"),
        (request(b"BREW /api/any/x HTTP/1.1"), b"400"),
        (request(b"GET /api/any/x HTTP/1.1", b"X-Latin: caf\xe9"), b"500"),
        (request(b"GET /api/any/x HTTP/1.1", b"X-Split: a\rInjected: b"), b"400"),
        (request(b"GET /api/any/x HTTP/1.1", b"X-Null: a\x00b"), b"400"),
        (request(b"GET /api/any/%0d%0aInjected:%20b?q=%0d%0aInjected:%20b HTTP/1.1"), b"200"),
        (request(b"GET /api/any/x?q=%0d%0aInjected:%20b HTTP/1.1"), b"200"),
        (request(b"GET /api/any/x HTTP/1.1", b"Upgrade: websocket", b"Connection: upgrade"), b"200"),
        (request(b"GET /api/any/x HTTP/1.0"), b"200"),
        (request(b"GET /api/any/x HTTP/9.9"), b"400"),
        (request(b"POST /api/read HTTP/1.1", b"Expect: a-miracle", b"Content-Length: 2", body=b"ok"), b"200"),
    ],
)
def test_odd_requests_get_a_status_and_the_host_goes_on(host: RunningHost, sent: bytes, status: bytes) -> None:
    head = exchange(host, sent).partition(b"\r\n\r\n")[0]
    assert head.split(b" ")[1] == status, head
    assert b"\r\nInjected" not in head
    assert_alive(host)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /api/rea",
        b"POST /api/read HTTP/1.1\r\nHost: loc",
        request(b"POST /api/read HTTP/1.1", b"Content-Length: 100", body=b"half"),
        request(b"POST /api/read HTTP/1.1", b"Transfer-Encoding: chunked", body=b"10\r\nhalf"),
        request(b"POST /api/read HTTP/1.1", b"Expect: 100-continue", b"Content-Length: 100"),
    ],
)
def test_a_caller_may_hang_up_anywhere(host: RunningHost, sent: bytes) -> None:
    exchange(host, sent, hang_up=True)
    assert_alive(host)


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_a_413_that_the_caller_reads(host: RunningHost, *, declared: bool) -> None:
    piece = bytes(1024 * 1024)
    pieces = LARGEST_BODY // len(piece)
    connection = HTTPConnection("127.0.0.1", host.port, timeout=WAIT_SECONDS)
    headers = {"Content-Length": str((pieces + 9) * len(piece))} if declared else {}
    body = (piece for _ in range(pieces + 9))
    connection.request("POST", "/api/read", body, headers, encode_chunked=not declared)
    with closing(connection), connection.getresponse() as answer:
        assert (answer.status, answer.read()) == (413, b"The request's body is over 67,108,864 bytes.")
    assert_alive(host)


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(host: RunningHost) -> None:
    for length, status in ((LARGEST_BODY, b"HTTP/1.1 200"), (LARGEST_BODY + 1, b"HTTP/1.1 413")):
        with socket.create_connection(("127.0.0.1", host.port), timeout=WAIT_SECONDS) as caller:
            headers = (b"Expect: 100-continue", b"Content-Length: %d" % length)
            caller.sendall(request(b"POST /api/ignore HTTP/1.1", *headers))
            assert caller.recv(len(status), socket.MSG_WAITALL) == status


def test_requests_may_come_pipelined(host: RunningHost) -> None:
    one = b"GET /api/any/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers = exchange(host, one + one + request(b"GET /api/any/2 HTTP/1.1"))
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.endswith(b'{"path":"2"}')


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from([b"GET", b"POST", b"OPTIONS", b"HEAD"]),
    target=st.binary(max_size=40),
    header=st.binary(max_size=40),
    body=st.binary(max_size=40),
)
def test_any_bytes_in_any_place_leave_the_host_alive(
    host: RunningHost, method: bytes, target: bytes, header: bytes, body: bytes
) -> None:
    exchange(
        host, request(method + b" /api/any/" + target + b" HTTP/1.1", b"X-Any: " + header, body=body), hang_up=True
    )
    assert host.process.poll() is None


async def test_after_all_that_many_callers_are_served_at_once(host: RunningHost) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(WAIT_SECONDS)) as caller:

        async def ask(number: int) -> object:
            async with caller.get(f"{host.url}/any/{number}") as answer:
                return await answer.json()

        answers = await asyncio.gather(*(ask(number) for number in range(50)))
    assert answers == [{"path": str(number)} for number in range(50)]
