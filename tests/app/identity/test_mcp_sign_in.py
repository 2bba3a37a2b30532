"""MCP with callers who sign in: what each tool shows them, and how a client without a token gets one."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.app.identity.conftest import EVERY_DOCUMENT, FLOWS, QUESTION, REPORT, Key, seen_in
from tests.local.running_host import RunningHost
from tests.stand_ins.easy_auth import principal
from tests.stand_ins.entra import ADA, BEN, CLIENT, STAFF, TENANT, EntraStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in for the directory."""


@asynccontextmanager
async def signed_in(
    host: RunningHost, headers: Mapping[str, str] | None = None, auth: httpx2.Auth | None = None
) -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(headers=dict(headers or {}), auth=auth, timeout=60) as http:
        transport = streamable_http_client(f"{host.url}/mcp", http_client=http)
        async with Client(transport, read_timeout_seconds=60) as client:
            yield client


async def seen_by(client: Client) -> dict[str, set[str]]:
    """The documents that a caller sees through each tool."""
    found = await client.call_tool("search", {"query": QUESTION})
    results: list[dict[str, str]] = found.structured_content["results"] if found.structured_content else []
    read = [await client.call_tool("fetch", {"id": f"{name}.md"}) for name in sorted(EVERY_DOCUMENT)]
    answer = await client.call_tool("ask", {"question": QUESTION})
    return {
        "search": {one["id"].removesuffix(".md") for one in results},
        "fetch": seen_in("".join(str(result.content) for result in read)),
        "ask": seen_in(str(answer.content)),
    }


async def test_each_tool_shows_a_caller_what_they_may_see(with_tokens: RunningHost, entra: EntraStandIn) -> None:
    for headers, seen in (
        (entra.bearer(), {"ADA"}),
        (entra.bearer(groups=[STAFF]), {"ADA", "STAFF"}),
        (entra.bearer(oid=BEN), {"BEN"}),
        (entra.bearer(oid=CLIENT), set[str]()),
    ):
        async with signed_in(with_tokens, headers) as client:
            shown = await seen_by(client)
        assert (shown["search"], shown["fetch"]) == (seen, seen)
        assert shown["ask"] <= seen
        assert bool(shown["ask"]) is bool(seen)


async def test_behind_app_service_authentication_its_header_counts(behind_easy_auth: RunningHost) -> None:
    async with signed_in(behind_easy_auth, principal(ADA)) as client:
        assert (await seen_by(client))["search"] == EVERY_DOCUMENT


async def test_a_key_shows_the_documents_of_its_groups(with_keys: RunningHost, http: aiohttp.ClientSession) -> None:
    for key, seen in ((FLOWS, {"STAFF"}), (REPORT, set[str]())):
        async with signed_in(with_keys, key.bearer) as client:
            shown = await seen_by(client)
        assert (shown["search"], shown["fetch"], shown["ask"]) == (seen, seen, seen)
    for headers in ({}, Key("unknown").bearer):
        async with http.post(f"{with_keys.url}/mcp", json={}, headers=headers) as response:
            assert response.status == 401
            assert "resource_metadata" not in response.headers["WWW-Authenticate"]


async def test_a_document_of_others_is_not_told_apart_from_one_that_is_not_there(
    with_tokens: RunningHost, entra: EntraStandIn, http: aiohttp.ClientSession
) -> None:
    async def fetched(name: str, caller: str) -> tuple[int, bytes, dict[str, str]]:
        params = {"name": "fetch", "arguments": {"id": name}}
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with http.post(f"{with_tokens.url}/mcp", json=sent, headers=entra.bearer(oid=caller)) as response:
            headers = {name: value for name, value in response.headers.items() if name.lower() != "date"}
            return response.status, await response.read(), headers

    assert b"secret of BEN" in (await fetched("BEN.md", BEN))[1]
    assert await fetched("BEN.md", ADA) == await fetched("not-there.md", ADA)
    assert await fetched("BEN.md#page=1", ADA) == await fetched("not-there.md", ADA)


class _Memory(TokenStorage):
    """Keeps what a client was given: its registration, which users of Entra ID make beforehand, and its token."""

    def __init__(self) -> None:
        self.token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull(
            client_id="the-mcp-client", redirect_uris=[AnyUrl("http://localhost:9/callback")]
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError(client_info)


async def test_a_client_without_a_token_finds_out_where_to_sign_in(
    with_tokens: RunningHost, entra: EntraStandIn
) -> None:
    memory = _Memory()
    sent_to: list[str] = []

    async def redirect(url: str) -> None:
        sent_to.append(url)

    async def callback() -> AuthorizationCodeResult:
        code, state = entra.allow(sent_to[-1])
        return AuthorizationCodeResult(code=code, state=state)

    provider = OAuthClientProvider(
        f"{with_tokens.url}/mcp",
        OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:9/callback")], client_name="A client"),
        memory,
        redirect,
        callback,
    )
    async with signed_in(with_tokens, auth=provider) as client:
        assert (await seen_by(client))["search"] == {"ADA"}
    (url,) = sent_to
    asked = httpx2.URL(url).params
    assert f"{CLIENT}/.default" in asked["scope"].split()
    assert asked["resource"] == f"{with_tokens.url}/mcp"
    assert memory.token


async def test_a_401_leads_to_the_metadata(with_tokens: RunningHost, entra: EntraStandIn) -> None:
    metadata = f"{with_tokens.url}/mcp/oauth-protected-resource"
    sent: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient(timeout=60) as http:
        for headers, error in (({}, ""), ({"Authorization": "Bearer x"}, 'error="invalid_token", ')):
            response = await http.post(f"{with_tokens.url}/mcp", json=sent, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == f'Bearer {error}resource_metadata="{metadata}"'
            assert response.json()["error"]["code"] == 401
        found = (await http.get(metadata)).json()
    assert found == {
        "resource": f"{with_tokens.url}/mcp",
        "resource_name": "Switchboard",
        "authorization_servers": [f"{entra.authority}/{TENANT}/v2.0"],
        "scopes_supported": [f"{CLIENT}/.default"],
        "bearer_methods_supported": ["header"],
    }
    assert "secret" not in json.dumps(found)


async def test_where_the_app_takes_no_tokens_of_users_there_is_no_metadata(
    behind_easy_auth: RunningHost, unsigned: RunningHost
) -> None:
    async with httpx2.AsyncClient(timeout=60) as http:
        for host in (behind_easy_auth, unsigned):
            assert (await http.get(f"{host.url}/mcp/oauth-protected-resource")).status_code == 404
        refused = await http.post(f"{behind_easy_auth.url}/mcp", json={})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
