"""How the app signs in to tool servers: with its identity, or for the caller, whose own token is never passed on."""

from collections.abc import AsyncGenerator

import pytest

from shared.chat_types import Caller
from shared.errors import NotConfigured
from shared.identity import CallerTokens
from shared.settings import Settings
from tests.stand_ins.entra import ADA, BEN, REGISTRATION, TENANT, EntraStandIn
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.tools.listening import Mcp
from tests.tools.serving import call, context, definition, tool_servers, tools_of

SCOPE = "api://crm/.default"
KEYS = {"APP_SECRET": REGISTRATION}
ON_BEHALF = {"on_behalf_of": SCOPE, "key": "APP_SECRET"}


@pytest.fixture
async def entra() -> AsyncGenerator[EntraStandIn]:
    async with EntraStandIn() as directory:
        yield directory


def signed_in(*oids: str) -> CallerTokens:
    kept = CallerTokens()
    for oid in oids:
        kept.remember(Caller(oid, tenant=TENANT), {"authorization": f"Bearer token-of-{oid}"})
    return kept


async def test_the_apps_identity_signs_in_with_a_token_of_the_scope(mcp: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with identity_endpoint("identity-token") as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        named = definition(f"{mcp.endpoint}/mcp", auth={"managed_identity": SCOPE})
        async with tool_servers(named) as servers:
            await call((await tools_of(servers))["crm.look"])
    assert {sent.headers["Authorization"] for sent in mcp.sent} == {"Bearer identity-token"}
    assert asked == ["api://crm"], "it is kept"


async def test_each_caller_is_served_with_a_token_of_their_own_and_never_the_one_they_sent(
    mcp: Mcp, entra: EntraStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings.read(entra.settings)
    tokens = signed_in(ADA, BEN)
    named = definition(f"{mcp.endpoint}/mcp", auth=ON_BEHALF)
    async with tool_servers(named, settings=settings, tokens=tokens, keys=KEYS) as servers:
        for turn, oid in (("one", ADA), ("two", BEN), ("three", ADA)):
            of = context(turn, caller=Caller(oid, tenant=TENANT))
            await call((await tools_of(servers, of=of))["crm.look"], of)
        health = await servers.check()
    calls = [sent.headers["Authorization"] for sent in mcp.asked("tools/call")]
    assert calls == [f"Bearer {SCOPE}-for-token-of-{oid}" for oid in (ADA, BEN, ADA)]
    assert [sent["assertion"] for sent in entra.exchanged] == [f"token-of-{ADA}", f"token-of-{BEN}"]
    assert len(mcp.asked("tools/list")) == 2, "one for each caller"
    assert health.ok
    assert "token-of" not in f"{caplog.text}{health}{tokens.of(Caller(ADA, tenant=TENANT))!r}"
    assert REGISTRATION not in caplog.text


async def test_for_a_caller_without_a_token_nothing_is_offered_and_nothing_runs(mcp: Mcp, entra: EntraStandIn) -> None:
    settings, named = Settings.read(entra.settings), definition(f"{mcp.endpoint}/mcp", auth=ON_BEHALF)
    ada, ben = (context(caller=Caller(oid, tenant=TENANT)) for oid in (ADA, BEN))
    async with tool_servers(named, settings=settings, tokens=signed_in(ADA), keys=KEYS) as servers:
        tools = await tools_of(servers, of=ada)
        assert await tools_of(servers, of=ben) == await tools_of(servers) == {}
        told = await call(tools["crm.look"], ben)
    assert told.is_error
    assert told.text.startswith("Error: The server of crm needs a token, and there is none")
    assert not mcp.asked("tools/call")


async def test_the_log_names_the_code_by_which_the_directory_refuses(
    mcp: Mcp, entra: EntraStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    settings, named = Settings.read(entra.settings), definition(f"{mcp.endpoint}/mcp", auth=ON_BEHALF)
    wrong = {"APP_SECRET": "another"}
    async with tool_servers(named, settings=settings, tokens=signed_in(ADA), keys=wrong) as servers:
        assert await tools_of(servers, of=context(caller=Caller(ADA, tenant=TENANT))) == {}
    assert "no token on behalf of a caller: HTTP 401, AADSTS [7000215]" in caplog.text
    assert "another" not in caplog.text


async def test_the_apps_identity_takes_the_place_of_a_secret(
    mcp: Mcp, entra: EntraStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = definition(f"{mcp.endpoint}/mcp", auth={"on_behalf_of": SCOPE})
    async with identity_endpoint("identity-token") as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        settings = Settings.read(entra.settings)
        async with tool_servers(named, settings=settings, tokens=signed_in(ADA)) as servers:
            assert await tools_of(servers, of=context(caller=Caller(ADA, tenant=TENANT)))
    assert [sent["client_assertion"] for sent in entra.exchanged] == ["identity-token"]
    assert asked == ["api://AzureADTokenExchange"]


@pytest.mark.parametrize(
    ("auth", "environment", "problem"),
    [
        ({"key": "CRM_KEY"}, {}, "CRM_KEY: is missing; crm in AGENTS_FILE is called with it."),
        ({"key": "CRM_KEY"}, {"CRM_KEY": "a\r\nb"}, "CRM_KEY: should be one line of ASCII characters; crm in"),
        ({"on_behalf_of": SCOPE}, {}, "AUTH_MODE: should be bearer, since crm in AGENTS_FILE is called on behalf of"),
    ],
)
async def test_what_is_missing_is_told_when_the_app_starts(
    auth: dict[str, str], environment: dict[str, str], problem: str
) -> None:
    with pytest.raises(NotConfigured) as told:
        async with tool_servers(definition("https://crm.example/mcp", auth=auth), keys=environment):
            pass
    assert told.value.message.startswith(problem)
