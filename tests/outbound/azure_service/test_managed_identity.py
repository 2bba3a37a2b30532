"""The app's managed identity, against an endpoint as App Service and Functions have it."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from azure.core.exceptions import ClientAuthenticationError

from shared.outbound.azure_service.managed_identity import ManagedIdentity
from shared.outbound.azure_service.signing_in import IdentityTokens, app_identity, close
from shared.outbound.faults import ServiceFault
from tests.stand_ins.identity_endpoint import IdentityEndpoint

TOKEN = "eyJ0-secret-token"  # noqa: S105 (of a stand-in)
SEARCH = "https://search.azure.com/.default"
TABLES = "https://storage.azure.com/.default"
OURS = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
async def endpoint() -> AsyncIterator[IdentityEndpoint]:
    async with IdentityEndpoint(TOKEN) as endpoint:
        yield endpoint


def identity_of(endpoint: IdentityEndpoint, **more: str) -> ManagedIdentity:
    identity = ManagedIdentity.from_environment(endpoint.environment | more)
    assert identity
    return identity


async def test_a_token_is_asked_for_once_a_resource_however_many_want_it(endpoint: IdentityEndpoint) -> None:
    async with identity_of(endpoint) as identity:
        tokens = await asyncio.gather(*(identity.get_token(scope) for scope in (SEARCH, TABLES, SEARCH, TABLES)))
    assert {token.token for token in tokens} == {TOKEN}
    assert endpoint.asked == ["https://search.azure.com", "https://storage.azure.com"]
    assert all(3500 < token.expires_on - time.time() < 3700 for token in tokens)


async def test_a_user_assigned_identity_is_asked_for_by_its_client_id() -> None:
    async with IdentityEndpoint(TOKEN, OURS) as endpoint:
        assert (await identity_of(endpoint, AZURE_CLIENT_ID=OURS).get_token(SEARCH)).token == TOKEN
        for wrong in ({"AZURE_CLIENT_ID": OURS.replace("1", "9")}, {}):
            with pytest.raises(ClientAuthenticationError, match=r"\(400\): check .* AZURE_CLIENT_ID"):
                await identity_of(endpoint, **wrong).get_token(SEARCH)


async def test_a_token_is_renewed_before_its_end_and_counts_until_then(endpoint: IdentityEndpoint) -> None:
    identity = identity_of(endpoint)
    endpoint.lifetime = 250
    for _ in range(2):
        await identity.get_token(SEARCH)
    assert len(endpoint.asked) == 2
    endpoint.answers = [web.Response(status=400)]
    for _ in range(2):
        assert (await identity.get_token(SEARCH)).token == TOKEN
    assert (endpoint.answers, len(endpoint.asked)) == ([], 2)  # what has just failed is not tried for each request
    identity, endpoint.answers, endpoint.lifetime = identity_of(endpoint), [], -1
    await identity.get_token(SEARCH)
    endpoint.answers = [web.Response(status=400)]
    with pytest.raises(ClientAuthenticationError):
        await identity.get_token(SEARCH)


async def test_a_token_that_a_service_refused_is_not_given_again(endpoint: IdentityEndpoint) -> None:
    identity = identity_of(endpoint)
    await identity.get_token(SEARCH)
    await identity.get_token(SEARCH, claims="{}")
    assert len(endpoint.asked) == 2


async def test_what_passes_is_tried_again(endpoint: IdentityEndpoint) -> None:
    endpoint.answers = [web.Response(status=500), None, web.Response(status=429, headers={"Retry-After": "0"})]
    assert (await identity_of(endpoint).get_token(SEARCH)).token == TOKEN
    assert endpoint.answers == []


def answered(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=302, headers={"Location": "/elsewhere"}),
        answered("<html>"),
        answered("{}"),
        answered(f'{{"access_token": "{TOKEN}", "expires_on": "soon"}}'),
        answered(f'{{"access_token": "{TOKEN}{"x" * 70_000}", "expires_on": 4102444800}}'),
    ],
    ids=["a redirect", "a page", "nothing", "no time", "too long"],
)
async def test_what_is_no_token_is_an_error_without_a_secret(
    endpoint: IdentityEndpoint, answer: web.Response, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.answers = [answer]
    identity = identity_of(endpoint)
    with pytest.raises(ClientAuthenticationError) as raised:
        await identity.get_token(SEARCH)
    header = endpoint.environment["IDENTITY_HEADER"]
    assert "The endpoint of the managed identity gives no token" in caplog.text
    shown = f"{raised.value!r} {raised.value.__cause__} {caplog.text} {vars(identity)}"
    assert TOKEN not in shown
    assert header not in shown


async def test_the_endpoint_is_never_asked_through_a_proxy(
    endpoint: IdentityEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await identity_of(endpoint).get_token(SEARCH)).token == TOKEN


async def test_tokens_for_the_ai_services_are_kept_and_a_failure_has_no_cause(
    endpoint: IdentityEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in endpoint.environment.items():
        monkeypatch.setenv(name, value)
    tokens = IdentityTokens()
    assert [await tokens.token(), await tokens.token(5.0)] == [TOKEN] * 2
    assert endpoint.asked == ["https://cognitiveservices.azure.com"]
    await tokens.aclose()
    endpoint.answers = [web.Response(status=400)]
    with pytest.raises(ServiceFault, match="NO_IDENTITY"):
        await IdentityTokens().token()


@pytest.mark.parametrize(
    "other",
    [
        {"IDENTITY_ENDPOINT": ""},
        {"IDENTITY_HEADER": ""},
        {"IDENTITY_SERVER_THUMBPRINT": "x"},
        {"AZURE_TOKEN_CREDENTIALS": "dev"},
        {"AZURE_CLIENT_SECRET": "x"},
        {"AZURE_CLIENT_CERTIFICATE_PATH": "x"},
        {"AZURE_FEDERATED_TOKEN_FILE": "x"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_every_other_way_to_sign_in_is_left_to_azure_identity(
    endpoint: IdentityEndpoint, monkeypatch: pytest.MonkeyPatch, other: dict[str, str]
) -> None:
    for name, value in (endpoint.environment | other).items():
        monkeypatch.setenv(name, value)
    identity = app_identity()
    await close(identity)
    assert type(identity).__module__.startswith("azure.identity")
