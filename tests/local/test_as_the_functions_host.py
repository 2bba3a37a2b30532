"""What Microsoft's Functions host answers, as a table of values: the local host answers the same.

The values were seen in that host, version 4.1037, in front of this app on Microsoft's worker. How callers leave and how
streams break off is in `test_web_extension.py` and `test_never_arrived.py`, queues in `test_queue_trigger.py`, CORS in
`test_front.py`, and SIGTERM in `test_stopping.py`. The host also takes a header name such as `X(a)`, and two headers
`Content-Type`: the local host's HTTP parser refuses both with 400.
"""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.running_host import RunningHost, running_host
from tests.local.small_apps import write_app

APP = """
@app.route(route="read", methods=["GET"])
async def read(req: Request) -> JSONResponse:
    return JSONResponse("read")


@app.route(route="both", methods=["GET", "HEAD"])
async def both(req: Request) -> JSONResponse:
    return JSONResponse("both")


@app.route(route="echo/{*path}", methods=["GET"])
async def echo(req: Request) -> JSONResponse:
    raw = req.scope["raw_path"].decode()
    return JSONResponse({"raw": raw, "headers": req.headers.items(), **req.path_params})


@app.route(route="beyond-ascii", methods=["GET"])
async def beyond_ascii(req: Request) -> Response:
    response = Response("text")
    response.raw_headers.append((b"x-name", "Zoë".encode()))
    return response


@app.route(route="z-other/{*path}")
async def other(req: Request) -> JSONResponse:
    return JSONResponse("other")
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with running_host(write_app(tmp_path_factory.mktemp("contract"), APP)) as running:
        yield running


def ask(host: RunningHost, line: str, *headers: str, named: bool = True) -> tuple[int, dict[str, str], bytes]:
    """Send a request of HTTP/1.1; return status, headers and body of the answer."""
    lines = [f"{line} HTTP/1.1", *(["Host: localhost"] if named else []), "Connection: close", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", host.port), timeout=60) as caller:
        caller.sendall("\r\n".join(lines).encode())
        received = b""
        while part := caller.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    status, *pairs = head.decode().split("\r\n")
    return (
        int(status.split(" ")[1]),
        {name.lower(): value for name, _, value in (p.partition(": ") for p in pairs)},
        body,
    )


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("GET /api/read", [], 200),
        ("GET /api/read/", [], 200),
        ("GET /API/Read", [], 200),
        ("GET /api/%72ead", [], 200),
        ("GET /api/z-other/../read", [], 200),
        ("GET /api//read", [], 404),
        ("POST /api/read", [], 404),
        ("HEAD /api/read", [], 405),
        ("HEAD /api/both", [], 200),
        ("HEAD /api/z-other/x", [], 200),
        ("FOO /api/z-other/x", [], 400),
        ("GET /api/elsewhere", [], 404),
        ("GET /admin/host/status", [], 401),
        ("GET /admin/functions", [], 401),
        ("GET /runtime/webhooks/blobs", [], 401),
        ("GET /api/echo/a%00b", [], 400),
        (f"GET /api/echo/x?{'q' * 9_000}", [], 414),
        ("GET /api/read", [f"X-Long: {'a' * 40_000}"], 431),
        ("GET /api/read", [f"X-{number}: a" for number in range(120)], 431),
        ("GET /api/read", ["X-Test: Zoë"], 500),
        ("GET /api/read", ["X-Test: a\x01b"], 400),
        ("GET /api/beyond-ascii", [], 500),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_status(host: RunningHost, line: str, headers: list[str], status: int) -> None:
    assert ask(host, line, *headers)[0] == status


def test_a_request_without_a_host_is_a_400(host: RunningHost) -> None:
    assert ask(host, "GET /api/read", named=False)[0] == 400


def test_head_has_the_headers_of_get_and_no_body(host: RunningHost) -> None:
    status, headers, body = ask(host, "HEAD /api/both")
    assert (status, headers["content-length"], body) == (200, "6", b"")


@pytest.mark.parametrize(
    ("path", "raw", "parameter"),
    [
        ("a/b", "a/b", "a/b"),
        ("a%20b", "a%20b", "a b"),
        ("a%2Fb", "a%252Fb", "a%2Fb"),
        ("%C3%A4", "%C3%A4", "ä"),
        ("a%23b", "a%23b", "a#b"),
    ],
)
def test_paths(host: RunningHost, path: str, raw: str, parameter: str) -> None:
    seen = json.loads(ask(host, f"GET /api/echo/{path}")[2])
    assert (seen["raw"].removeprefix("/api/echo/"), seen["path"]) == (raw, parameter)


@pytest.mark.parametrize(
    ("sent", "name", "values"),
    [
        (["X-Twice: a", "x-twice: b"], "x-twice", ["a, b"]),
        (["Cookie: a=1", "Cookie: b=2"], "cookie", ["a=1; b=2"]),
        (["X-Forwarded-For: 203.0.113.9, 10.0.0.1"], "x-forwarded-for", ["127.0.0.1"]),
        (["X-Forwarded-Host: contoso.com"], "x-forwarded-host", ["localhost"]),
        (["X-Forwarded-Proto: https"], "x-forwarded-proto", ["http"]),
        (["Forwarded: for=203.0.113.9"], "forwarded", []),
        (["X-Azure-SocketIP: 203.0.113.9"], "x-azure-socketip", ["203.0.113.9"]),
        (["X-MS-Client-Principal: forged"], "x-ms-client-principal", []),
    ],
)
def test_headers_of_requests(host: RunningHost, sent: list[str], name: str, values: list[str]) -> None:
    assert of_request(host, name, *sent) == values


def test_the_id_of_an_invocation_is_the_hosts(host: RunningHost) -> None:
    (value,) = of_request(host, "x-ms-invocation-id", "x-ms-invocation-id: mine")
    assert value != "mine"


def of_request(host: RunningHost, name: str, *sent: str) -> list[str]:
    """Return the values of a header as the function gets them."""
    seen: dict[str, Any] = json.loads(ask(host, "GET /api/echo/x", *sent)[2])
    return [value for key, value in seen["headers"] if key == name]


def test_no_answer_names_the_workers_server(host: RunningHost) -> None:
    assert "uvicorn" not in ask(host, "GET /api/read")[1].get("server", "")
