"""Which documents the users of a bot see: the table in docs/security.md, a row a test."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import jwt
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import EVERY_DOCUMENT, QUESTION
from tests.app.test_activities import post
from tests.local.running_host import RunningHost
from tests.stand_ins.bot_service import BOT, RESOURCE, TOKEN, BotService
from tests.stand_ins.entra import ADA, BEN, CLIENT, OTHER_TENANT, STAFF, TENANT, rsa_key
from tests.stand_ins.identity_endpoint import IdentityEndpoint
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPEN = {"NOBODY", "ALL"}
CAM, DOT = "cccccccc-0000-4000-8000-000000000003", "dddddddd-0000-4000-8000-000000000004"
"""Users who are in groups."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bot(bot_service: BotService, openai: OpenAIStandIn, rights_dir: Path) -> AsyncGenerator[RunningHost]:
    rights = {"ACCESS_CONTROL": "enforced-or-open", "AUTH_MODE": "api-key", "API_KEYS": f"page:{'0' * 64}"}
    signs_in = bot_service.settings | bot_service.single_sign_on | {"AZURE_CLIENT_ID": BOT}
    async with (
        IdentityEndpoint(TOKEN, BOT) as identity,
        hosted(rights_dir, openai.settings | NO_VECTORS | signs_in | identity.environment | rights) as host,
    ):
        yield host


def in_teams(service: BotService, user: str, conversation: str = "", **sender: Any) -> dict[str, Any]:
    activity = service.message(QUESTION, conversation, user, deliveryMode="expectReplies")
    activity["from"] |= sender
    return activity


def elsewhere(service: BotService) -> dict[str, Any]:
    """An activity of Web Chat, whose client says that its user is Ada."""
    return in_teams(service, ADA) | {"channelId": "webchat", "conversation": {"id": "c"}, "channelData": {}}


def of_an_application(service: BotService) -> dict[str, str]:
    claims = {"iss": f"{service.endpoint}/{TENANT}/v2.0", "tid": TENANT, "azp": CLIENT}
    token = jwt.encode(service.claims(**claims), rsa_key(9), "RS256", headers={"kid": "tenant-key"})
    return {"Authorization": f"Bearer {token}"}


async def seen(
    host: RunningHost, openai: OpenAIStandIn, http: Any, activity: dict[str, Any], headers: dict[str, str]
) -> set[str] | int:
    """The documents of which the model reads; the status of a refusal."""
    number = len(openai.requests)
    async with http.post(f"{host.url}/messages", json=activity, headers=headers) as response:
        if response.status != 200:
            return response.status
    asked = str([one.body for one in openai.requests[number:]])
    return {name for name in EVERY_DOCUMENT if f"secret of {name}." in asked}


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("a user of the tenant", {"ADA"} | OPEN),
        ("the same in a channel", {"ADA"} | OPEN),
        ("a guest, who has an account in the tenant", {"BEN"} | OPEN),
        ("somebody of another tenant", 403),
        ("somebody of another tenant in a channel of this one", 403),
        ("somebody without an account", 403),
        ("a user of another channel who says to be Ada", OPEN),
        ("an application that says to ask for Ada", OPEN),
    ],
)
async def test_who_sees_what(
    who: str, expected: set[str] | int, bot: RunningHost, bot_service: BotService, openai: OpenAIStandIn, http: Any
) -> None:
    service = bot_service
    service.begin_anew()
    foreign = in_teams(service, ADA)
    foreign["conversation"]["tenantId"] = foreign["channelData"]["tenant"]["id"] = OTHER_TENANT
    activities = {
        "a user of the tenant": in_teams(service, ADA),
        "the same in a channel": in_teams(service, ADA, service.group),
        "a guest, who has an account in the tenant": in_teams(service, BEN, tenantId=TENANT, name="b_x.org#EXT#"),
        "somebody of another tenant": foreign,
        "somebody of another tenant in a channel of this one": in_teams(
            service, ADA, service.group, tenantId=OTHER_TENANT
        ),
        "somebody without an account": in_teams(service, ADA, aadObjectId=""),
        "a user of another channel who says to be Ada": elsewhere(service),
        "an application that says to ask for Ada": in_teams(service, ADA),
    }
    headers = of_an_application(service) if who.startswith("an application") else service.signed()
    if isinstance(expected, set):
        openai.reply("It pays.")
    assert await seen(bot, openai, http, activities[who], headers) == expected


async def test_nothing_is_fetched_from_where_an_application_says(
    bot: RunningHost, bot_service: BotService, http: Any
) -> None:
    """An application chooses the service URL of its activities: the bot's token would go there."""
    bot_service.begin_anew()
    reached = list[str]()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as elsewhere:
        address = f"http://127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}"
        image = {"contentType": "image/png", "contentUrl": f"{address}/a.png"}
        activity = in_teams(bot_service, ADA) | {"serviceUrl": f"{address}/", "attachments": [image]}
        async with http.post(f"{bot.url}/messages", json=activity, headers=of_an_application(bot_service)) as response:
            assert response.status == 200
            (said,) = (await response.json())["activities"]
    assert "is where nothing is fetched from" in said["text"]
    assert reached == []


async def test_a_user_s_own_token_opens_the_documents_of_groups(
    bot: RunningHost, bot_service: BotService, openai: OpenAIStandIn, http: Any, rights_dir: Path
) -> None:
    service = bot_service
    service.begin_anew()
    for _ in range(5):
        openai.reply("It pays.")
    assert await seen(bot, openai, http, in_teams(service, CAM), service.signed()) == OPEN
    assert service.sent == []  # all is in the response
    for number in (1, 2):  # it asks for a token with the first message, and answers meanwhile
        assert (await post(http, bot, service, service.message(QUESTION, user=CAM)))[0] == 202
        await service.finals(number)
    messages = [one.activity for one in service.messages.values()]
    cards = [one["attachments"][0] for one in messages if "attachments" in one]
    assert [one["contentType"] for one in cards] == ["application/vnd.microsoft.card.oauth"]
    assert cards[0]["content"]["tokenExchangeResource"]["uri"] == RESOURCE
    token = service.user_token(oid=CAM, groups=[STAFF])
    sent = [service.exchange(token, user=CAM) for _ in range(2)]  # of two devices
    told = await asyncio.gather(*(post(http, bot, service, one) for one in sent))
    assert told == [(200, {"id": "x-1", "connectionName": "sso"})] * 2
    for conversation in (service.personal, service.group):
        activity = in_teams(service, CAM, conversation)
        assert await seen(bot, openai, http, activity, service.signed()) == {"STAFF"} | OPEN
    assert len(service.messages) == 3
    assert token not in bot.log()
    files = [one for one in await asyncio.to_thread(lambda: [*rights_dir.rglob("*")]) if one.is_file()]
    assert not [one for one in files if token.rpartition(".")[2].encode() in one.read_bytes()]


@pytest.mark.parametrize(
    "claims",
    [{"oid": CAM}, {"tid": OTHER_TENANT}, {"aud": "api://another"}, {"exp": int(time.time()) - 100}],
    ids=["another user", "another tenant", "another audience", "expired"],
)
async def test_a_token_that_is_not_the_user_s_opens_nothing(
    claims: dict[str, Any], bot: RunningHost, bot_service: BotService, openai: OpenAIStandIn, http: Any
) -> None:
    service = bot_service
    service.begin_anew()
    told: dict[str, Any] = {"oid": DOT, "groups": [STAFF]}
    token = service.user_token(**(told | claims))
    status, told = await post(http, bot, service, service.exchange(token, user=DOT))
    assert (status, told["id"], bool(told["failureDetail"])) == (412, "x-1", True)
    openai.reply("It pays.")
    assert await seen(bot, openai, http, in_teams(service, DOT), service.signed()) == OPEN


async def test_a_failure_of_teams_is_logged_in_its_word_alone(
    bot: RunningHost, bot_service: BotService, http: Any
) -> None:
    for code, word in (("resourcematchfailed", "resourcematchfailed"), ("a\nforged line", "unknown")):
        value = {"code": code, "message": "Resource match failed"}
        failure = bot_service.activity("invoke", name="signin/failure", value=value)
        assert await post(http, bot, bot_service, failure) == (200, {})
        await asyncio.to_thread(bot.wait_for, f"single sign-on: {word}")
    assert "forged line" not in bot.log()
