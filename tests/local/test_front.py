"""What the host answers itself, what it lets through, and what it logs."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from local import front
from local.proxy import Proxy
from local.settings_file import Cors
from tests.local.running_host import RunningHost, host_beside, running_host
from tests.local.small_apps import write_app

APP = """
@app.route(route="items/{id}", methods=["GET"])
async def items(req: Request) -> JSONResponse:
    return JSONResponse({"function": "items", **req.path_params})


@app.route(route="items/recent", methods=["GET"])
async def recent(req: Request) -> JSONResponse:
    return JSONResponse({"function": "recent"})


@app.route(route="content/{*path}", methods=["GET"])
async def content(req: Request) -> JSONResponse:
    return JSONResponse({"function": "content", **req.path_params})


@app.route(route="logged/{*path}", methods=["GET"])
async def logged(req: Request) -> JSONResponse:
    lasts = "public, max-age=31536000, immutable" if req.path_params["path"] == "static" else "no-store"
    return JSONResponse(None, headers={"cache-control": lasts})


@app.route(methods=["POST"])
async def unnamed(req: Request) -> StreamingResponse:
    return StreamingResponse(iter(["a", "b"]), media_type="text/plain")


@app.route(route="setting", methods=["GET"])
async def setting(req: Request) -> JSONResponse:
    return JSONResponse({name: os.environ.get(name) for name in ("FROM_FILE", "FROM_BOTH")})


@app.event_hub_message_trigger(arg_name="event", event_hub_name="readings", connection="HUB")
async def reading(event: func.EventHubEvent) -> None: ...
"""
ORIGIN = "http://localhost:5173"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    app = write_app(
        tmp_path_factory.mktemp("front"),
        APP,
        host={"extensions": {"http": {"routePrefix": "v1"}}},
        local_settings={
            "Values": {"FROM_FILE": "file", "FROM_BOTH": "file"},
            "Host": {"CORS": ORIGIN, "CORSCredentials": True},
        },
    )
    with running_host(app, {"FROM_BOTH": "environment"}) as running:
        yield running


@pytest.fixture
async def caller() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        yield session


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("items/recent", {"function": "recent"}),
        ("items/7", {"function": "items", "id": "7"}),
        ("ITEMS/a%20b%252F?x=1", {"function": "items", "id": "a b%2F"}),
        ("content/a/%C3%A4.pdf", {"function": "content", "path": "a/ä.pdf"}),
        ("content/..%2F..%2Fetc%2Fpasswd", {"function": "content", "path": "..%2F..%2Fetc%2Fpasswd"}),
    ],
)
async def test_a_path_reaches_its_function_with_its_parameters(
    host: RunningHost, caller: aiohttp.ClientSession, path: str, expected: dict[str, str]
) -> None:
    async with caller.get(URL(f"{host.url}/{path}", encoded=True)) as answer:
        assert await answer.json() == expected


async def test_the_prefix_is_that_of_the_host_file(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    assert host.url.endswith("/v1")
    async with caller.get(host.url.replace("/v1", "/api/items/7")) as answer:
        assert answer.status == 404
        assert "GET /v1/items/{id}" in await answer.text()


async def test_a_wrong_method_is_a_404_and_head_a_405(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    async with caller.get(f"{host.url}/unnamed") as wrong:
        assert wrong.status == 404
        assert "POST /v1/unnamed" in await wrong.text()
    async with caller.head(f"{host.url}/unnamed") as head:
        assert (head.status, head.headers["Allow"]) == (405, "POST")


async def test_values_of_the_settings_file_are_set_and_the_environment_wins(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    async with caller.get(f"{host.url}/setting") as answer:
        assert await answer.json() == {"FROM_FILE": "file", "FROM_BOTH": "environment"}


async def test_an_allowed_origin_may_ask_first_and_read_the_streamed_answer(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    asked = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    async with caller.options(f"{host.url}/unnamed", headers=asked) as allowed:
        assert allowed.status == 204
        assert allowed.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert allowed.headers["Access-Control-Allow-Methods"] == "POST"
        assert allowed.headers["Access-Control-Allow-Headers"] == "content-type"
        assert allowed.headers["Access-Control-Allow-Credentials"] == "true"
    async with caller.post(f"{host.url}/unnamed", headers={"Origin": ORIGIN}) as answer:
        assert await answer.text() == "ab"
        assert answer.headers.getall("Access-Control-Allow-Origin") == [ORIGIN]
        assert "Vary" not in answer.headers, "as in the Functions host"


async def test_a_refused_origin_is_logged_once_with_the_setting_that_allows_it(
    tmp_path: Path, caller: aiohttp.ClientSession
) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    async with host_beside(write_app(tmp_path, APP)) as host:
        for origin in (
            "http://localhost:3000",
            "http://localhost:3000",
            f"http://127.0.0.1:{host.port}",
            "xé" * 999,
        ):
            async with caller.options(f"{host.url}/unnamed", headers={"Origin": origin, **asked}):
                pass
            async with caller.post(f"{host.url}/unnamed", headers={"Origin": origin}) as answer:
                assert "Access-Control-Allow-Origin" not in answer.headers
        for number in range(100):
            async with caller.get(f"{host.url}/items/7", headers={"Origin": f"http://{number}.example"}):
                pass
        await asyncio.to_thread(host.wait_for, "xe9x")
    lines = [line for line in host.log().splitlines() if "CORS" in line]
    assert "http://localhost:3000" in lines[0]
    assert "CORS=" in lines[0]
    assert "Host.CORS" in lines[0]
    assert len([line for line in lines if "localhost:3000" in line]) == 1
    assert len(lines) < 50
    assert not [line for line in lines if f":{host.port}" in line or len(line) > 1000 or not line.isascii()]


async def test_origins_can_be_allowed_in_the_environment(tmp_path: Path, caller: aiohttp.ClientSession) -> None:
    app = write_app(tmp_path, APP, local_settings={"Host": {"CORS": "http://localhost:1"}})
    async with host_beside(app, {"CORS": "http://localhost:3000, http://localhost:8000/"}) as host:
        allowed: list[str | None] = []
        for port in (1, 3000, 8000):
            async with caller.post(f"{host.url}/unnamed", headers={"Origin": f"http://localhost:{port}"}) as answer:
                allowed.append(answer.headers.get("Access-Control-Allow-Origin"))
        assert allowed == [None, "http://localhost:3000", "http://localhost:8000"]
        assert "CORS" in host.log()


async def test_another_origin_gets_no_permission(host: RunningHost, caller: aiohttp.ClientSession) -> None:
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    async with caller.options(f"{host.url}/unnamed", headers=asked) as refused:
        assert "Access-Control-Allow-Origin" not in refused.headers
        assert "Access-Control-Allow-Methods" not in refused.headers


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:7071", "127.0.0.1:80", "[::1]:7071"])
async def test_a_loopback_name_reaches_the_host(host: RunningHost, caller: aiohttp.ClientSession, name: str) -> None:
    async with caller.get(f"{host.url}/items/7", headers={"Host": name}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "name",
    ["evil.example", "evil.example:7071", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "[::1"],
)
async def test_another_name_that_a_web_page_has_for_the_host_does_not(
    host: RunningHost, caller: aiohttp.ClientSession, name: str
) -> None:
    async with caller.get(f"{host.url}/items/7", headers={"Host": name, "Origin": f"http://{name}"}) as refused:
        assert refused.status == 403
        assert "localhost, 127.0.0.1 and [::1]" in await refused.text()


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://localhost.evil.example", "file://"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json", None])
async def test_a_page_of_a_foreign_origin_makes_no_function_run(
    host: RunningHost, caller: aiohttp.ClientSession, origin: str, content_type: str | None
) -> None:
    headers = {"Origin": origin} | ({"Content-Type": content_type} if content_type else {})
    async with caller.post(f"{host.url}/unnamed", data=b"{}", headers=headers) as refused:
        assert refused.status == 403
        assert "Host.CORS of local.settings.json" in await refused.text()
    async with caller.get(f"{host.url}/items/7", headers=headers) as answer:
        assert answer.status == 200  # which the browser keeps from the page


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173"])
async def test_a_page_of_this_machine_may_send_requests_but_not_read_the_answers(
    host: RunningHost, caller: aiohttp.ClientSession, origin: str
) -> None:
    async with caller.post(f"{host.url}/unnamed", headers={"Origin": origin}) as answer:
        assert await answer.text() == "ab"
        assert "Access-Control-Allow-Origin" not in answer.headers


async def test_without_cors_the_host_adds_nothing_and_options_is_a_method_like_any(
    caller: aiohttp.ClientSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    app = write_app(tmp_path_factory.mktemp("closed"), APP)
    with running_host(app) as running:
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
        async with caller.options(f"{running.url}/unnamed", headers=asked) as refused:
            assert refused.status == 404
        async with caller.post(f"{running.url}/unnamed", headers={"Origin": ORIGIN}) as answer:
            assert "Access-Control-Allow-Origin" not in answer.headers


async def test_with_any_origin_allowed_the_answer_says_so(
    caller: aiohttp.ClientSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    app = write_app(tmp_path_factory.mktemp("public"), APP, local_settings={"Host": {"CORS": "*"}})
    with running_host(app) as running:
        async with caller.post(f"{running.url}/unnamed", headers={"Origin": ORIGIN}) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def test_an_invocation_is_one_line_without_anything_of_the_caller(
    host: RunningHost, caller: aiohttp.ClientSession
) -> None:
    for path in ("static", "secret-path?q=secret-query"):
        async with caller.get(f"{host.url}/logged/{path}", headers={"X-A": "secret-header"}) as answer:
            await answer.read()  # or the caller may have left in the middle of it
            assert answer.status == 200
    line = await asyncio.to_thread(host.wait_for, r"(?m)^.* logged GET 200 .*$")
    uuid = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d {uuid} logged GET 200 \d+ ms", line)
    assert host.log().count("logged GET") == 1, "what never changes has no line"
    assert "secret" not in host.log()
    assert "Uvicorn" not in host.log()


def test_the_start_says_what_is_not_hosted(host: RunningHost) -> None:
    assert "Functions: 6 by HTTP\n" in host.log()
    assert re.search(r"reading +eventHubTrigger, not hosted locally", host.log())


async def test_headers_that_do_not_arrive_in_time_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "HEADERS_SECONDS", 0.1)
    serving = front.Front({}, [], lambda _: Future(), Proxy(""), Cors())
    reader, writer = await asyncio.open_connection("127.0.0.1", await serving.start(0))
    received = asyncio.create_task(reader.read())
    try:
        writer.write(b"GET /api/any HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        async with asyncio.timeout(60):
            while not received.done():
                writer.write(b"a")
                await asyncio.wait({received}, timeout=0.01)
        with suppress(ConnectionError):
            assert received.result() == b""
    finally:
        writer.close()
        await serving.stop(0)
