"""Who is calling, through the running app: in each mode only what vouches for a caller counts."""

import asyncio
import json
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import jwt
import pytest

from function_app import ROUTES
from tests.app.conftest import hosted
from tests.app.identity.conftest import (
    EVERY_DOCUMENT,
    FORGED,
    QUESTIONS,
    ask,
    messages_of,
    overrides,
    seen_in,
    start_chat,
)
from tests.local.running_host import RunningHost
from tests.stand_ins.easy_auth import encoded, principal
from tests.stand_ins.entra import ADA, BEN, CLIENT, OTHER_TENANT, STAFF, TENANT, EntraStandIn, rsa_key

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in for the directory."""

OPEN = {
    "health": "/health",
    "openapi": "/openapi.json",
    "swagger": "/swagger.json",
    "activity": "/messages",
    "mcp_sign_in": "/mcp/oauth-protected-resource",
    "demo_config": "/rag-chat/config",
    "demo_auth_setup": "/rag-chat/auth_setup",
    "demo_speech": "/rag-chat/speech",
    "api_page": "/docs",
    "playground_file": "/playground/1/index.js",
    "without_route": "/",
}
"""By the name of each function that is open to all: a path of it."""


def protected() -> Iterator[tuple[str, str]]:
    """Method and path of every other route of the app, and of questions in further protocols."""
    yield from (("POST", path) for path in QUESTIONS)
    for route in ROUTES:
        if route.name not in OPEN:
            path = re.sub(r"\{\*?path\}", "ADA.md", route.path).replace("{protocol}", "rag-chat").replace("{id}", "1")
            yield from ((method, f"/{path}") for method in route.methods.split())
    yield from (("PUT", "/documents/mine/ADA.md"), ("DELETE", "/documents/mine"))


@pytest.fixture(params=["with_tokens", "behind_easy_auth", "with_keys"])
def signing_in(request: pytest.FixtureRequest) -> RunningHost:
    """The app in each mode in which callers sign in."""
    return request.getfixturevalue(request.param)


async def test_where_callers_sign_in_nothing_is_for_those_who_do_not(
    signing_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    url = signing_in.url
    for method, path in protected():
        async with http.request(method, url + path, data=b"{") as response:
            scheme = response.headers["WWW-Authenticate"].partition(" ")[0]  # MCP is told more
            assert (response.status, scheme) == (401, "Bearer"), path
            assert method == "HEAD" or "Sign in" in await response.text()
    for path in OPEN.values():
        async with http.get(url + path) as response:
            assert response.status != 401, path


async def test_the_demos_page_is_told_to_sign_in_to_this_app_and_keeps_its_chats_here(
    with_tokens: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{with_tokens.url}/ai-chat-2026-04/auth_setup") as response:
        setup = await response.json()
    assert setup["useLogin"] is True
    assert setup["enableUnauthenticatedAccess"] is False
    assert setup["msalConfig"]["auth"]["clientId"] == CLIENT
    assert setup["msalConfig"]["auth"]["authority"] == f"{entra.authority}/{TENANT}"
    assert setup["tokenRequest"]["scopes"] == [f"{CLIENT}/.default"]
    async with http.get(f"{with_tokens.url}/ai-chat-2026-04/config") as response:
        config = await response.json()
        assert (config["showChatHistoryCosmos"], config["showUserUpload"]) == (True, True)
    sessions = f"{with_tokens.url}/ai-chat-2026-04/chat_history/sessions"
    async with http.get(sessions, headers=entra.bearer()) as response:
        assert (await response.json())["sessions"] == []


@pytest.mark.parametrize("forged", [FORGED, {name.lower(): value for name, value in FORGED.items()}])
async def test_the_platforms_headers_sign_nobody_in_where_tokens_do(
    with_tokens: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession, forged: dict[str, str]
) -> None:
    assert (await ask(http, with_tokens, forged))[0] == 401
    status, answer = await ask(http, with_tokens, forged | entra.bearer())
    assert (status, seen_in(answer)) == (200, {"ADA"})


async def test_no_header_says_who_it_is_where_nobody_signs_in(
    unsigned: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    for headers in (FORGED, entra.bearer(), {"Authorization": "Bearer a.b.c"}):
        status, answer = await ask(http, unsigned, headers)
        assert (status, seen_in(answer)) == (200, EVERY_DOCUMENT)
        for name in ("use_oid_security_filter", "use_groups_security_filter"):
            assert (await ask(http, unsigned, headers, overrides(**{name: True})))[0] == 401
        chat = await start_chat(http, unsigned, headers)
        assert await messages_of(http, unsigned, {}, chat) == 200


async def test_tokens_sign_nobody_in_behind_the_platform(
    behind_easy_auth: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    assert (await ask(http, behind_easy_auth, entra.bearer()))[0] == 401
    only_id = {"X-MS-CLIENT-PRINCIPAL-ID": ADA, "X-MS-CLIENT-PRINCIPAL-NAME": "ada"}
    assert (await ask(http, behind_easy_auth, only_id))[0] == 401


async def test_a_header_that_the_platform_would_not_send_is_refused(
    behind_easy_auth: RunningHost, http: aiohttp.ClientSession
) -> None:
    good = principal(ADA)["X-MS-CLIENT-PRINCIPAL"]
    for value in ("garbage", "e30=", encoded([("oid", ADA)], "google"), encoded([("name", "Ada")]), f"{good},{good}"):
        async with http.post(
            behind_easy_auth.url + "/chat", json=overrides(), headers={"X-MS-CLIENT-PRINCIPAL": value}
        ) as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    twice = [("X-MS-CLIENT-PRINCIPAL", good), ("X-MS-CLIENT-PRINCIPAL", principal(BEN)["X-MS-CLIENT-PRINCIPAL"])]
    async with http.post(behind_easy_auth.url + "/chat", json=overrides(), headers=twice) as response:
        assert response.status == 401


@pytest.mark.parametrize("name", [b"X-MS-CLIENT-PRINCIPAL", b"x-ms-Client-Principal"])
async def test_of_two_headers_none_counts_however_they_are_spelled(behind_easy_auth: RunningHost, name: bytes) -> None:
    ada, ben = (principal(who)["X-MS-CLIENT-PRINCIPAL"].encode() for who in (ADA, BEN))
    reader, writer = await asyncio.open_connection("127.0.0.1", behind_easy_auth.port)
    writer.write(b"GET /api/chat-history HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
    writer.write(b"X-MS-CLIENT-PRINCIPAL: %b\r\n%b: %b\r\n\r\n" % (ada, name, ben))
    assert (await reader.readline()).startswith(b"HTTP/1.1 401")
    await reader.read()
    writer.close()
    await writer.wait_closed()


def unsigned_token(entra: EntraStandIn, algorithm: str) -> str:
    parts = ({"alg": algorithm, "typ": "JWT", "kid": entra.kid}, entra.claims())
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


async def test_a_token_that_does_not_hold_is_a_401_that_says_why(
    with_tokens: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    now = int(time.time())
    tokens = {
        entra.token(exp=now - 3600, nbf=now - 7200, iat=now - 7200): "has expired",
        entra.token(nbf=now + 3600): "not valid yet",
        entra.token(aud="api://another"): "another application",
        entra.token(iss=f"https://sts.windows.net/{OTHER_TENANT}/"): "another issuer",
        entra.token(tid=OTHER_TENANT): "another tenant",
        entra.token(oid=None): "lacks a claim",
        jwt.encode(entra.claims(), rsa_key(99), "RS256", headers={"kid": entra.kid}): "signature does not hold",
        jwt.encode(entra.claims(), "k" * 64, "HS256", headers={"kid": entra.kid}): "not signed as",
        unsigned_token(entra, "none"): "not signed as",
        unsigned_token(entra, "RS256"): "signature does not hold",
        "garbage": "cannot be read",
    }
    for token, says in tokens.items():
        headers = {"Authorization": f"Bearer {token}"}
        async with http.post(with_tokens.url + "/chat", json=overrides(), headers=headers) as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
            assert says in (await response.json())["error"]
    twice = [("Authorization", f"Bearer {entra.token()}"), ("Authorization", f"Bearer {entra.token(oid=BEN)}")]
    async with http.post(with_tokens.url + "/chat", json=overrides(), headers=twice) as response:
        assert response.status == 401
    assert "garbage" not in with_tokens.log()


async def test_what_is_too_large_for_a_header_is_refused(
    with_tokens: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    two_hundred = [f"{number:08}-0000-4000-8000-000000000000" for number in range(199)]
    assert (await ask(http, with_tokens, entra.bearer(groups=[*two_hundred, STAFF])))[0] == 200
    status, _ = await ask(http, with_tokens, entra.bearer(groups=[*map(str, range(10_000)), STAFF]))
    assert 400 <= status < 500


@pytest.mark.parametrize("size", [100, 50_000_000])
async def test_who_is_not_signed_in_is_told_before_the_body_is_read(with_tokens: RunningHost, size: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", with_tokens.port)
    writer.write(f"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"HTTP/1.1 401")
    writer.close()
    await writer.wait_closed()


async def test_a_directory_that_cannot_be_reached_is_a_503_and_lets_nobody_in(
    rights_dir: Path, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    async with hosted(rights_dir, entra.settings | {"AUTH_AUTHORITY": "http://127.0.0.1:1"}) as host:
        status, answer = await ask(http, host, entra.bearer())
        assert status == 503
        assert "AUTH_AUTHORITY" in answer
        assert (await ask(http, host, {}))[0] == 401


async def test_the_description_asks_for_a_token_or_a_key(
    with_tokens: RunningHost, with_keys: RunningHost, unsigned: RunningHost, http: aiohttp.ClientSession
) -> None:
    for host, asked in ((with_tokens, "access token"), (with_keys, "API key"), (unsigned, None)):
        for path in ("/openapi.json", "/swagger.json"):
            async with http.get(host.url + path) as response:
                document = await response.json()
            schemes = document.get("securityDefinitions") or document.get("components", {}).get("securitySchemes", {})
            assert bool(document.get("security")) is bool(schemes) is bool(asked)
            assert not asked or asked in schemes["token"]["description"]


async def test_health_tells_how_callers_sign_in_and_nothing_of_a_caller_is_kept_by_caches(
    http: aiohttp.ClientSession, built_in: RunningHost
) -> None:
    async with http.get(f"{built_in.url}/health") as response:
        identity = (await response.json())["parts"]["identity"]
        assert (identity["kind"], identity["access_control"]) == ("none", "on-request")
    async with http.get(f"{built_in.url}/chat-history") as response:
        assert response.headers["Cache-Control"] == "no-store"


async def test_who_signs_in_at_the_platform_and_shares_chats_with_all_is_told_of_in_health_and_log(
    http: aiohttp.ClientSession, unsigned: RunningHost, rights_dir: Path
) -> None:
    async with http.get(f"{unsigned.url}/health") as response:
        health = await response.json()
    assert (response.status, health["status"]) == (200, "degraded")
    assert (health["parts"]["identity"]["kind"], health["parts"]["identity"]["ok"]) == ("none", False)
    assert "set AUTH_MODE to easy-auth" in health["parts"]["identity"]["detail"]
    await asyncio.to_thread(unsigned.wait_for, r"(?m)^\d{4}-\d\d-\d\d .*set AUTH_MODE to easy-auth")
    async with (
        hosted(rights_dir, {"WEBSITE_AUTH_ENABLED": "True", "HISTORY_BACKEND": "off"}) as nothing_to_share,
        http.get(f"{nothing_to_share.url}/health") as response,
    ):
        assert (await response.json())["status"] == "ok"
