"""Which documents the users of a bot see: the table in docs/security.md, a row a test."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import jwt
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import EVERY_DOCUMENT, QUESTION
from tests.local.running_host import RunningHost
from tests.stand_ins.bot_service import BotService
from tests.stand_ins.entra import ADA, BEN, CLIENT, OTHER_TENANT, TENANT, rsa_key
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPEN = {"NOBODY", "ALL"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bot(bot_service: BotService, openai: OpenAIStandIn, rights_dir: Path) -> AsyncGenerator[RunningHost]:
    rights = {"ACCESS_CONTROL": "enforced-or-open", "AUTH_MODE": "api-key", "API_KEYS": f"page:{'0' * 64}"}
    async with hosted(rights_dir, openai.settings | NO_VECTORS | bot_service.settings | rights) as host:
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
