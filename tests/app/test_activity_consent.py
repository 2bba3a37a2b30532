"""Consent by a card in a conversation: only who asked decides, there, and the tool runs once."""

import asyncio
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from shared.runs.folder_objects import FolderObjects
from tests.app.conftest import NO_VECTORS
from tests.app.test_activities import post
from tests.local.running_host import REPOSITORY, RunningHost, host_beside
from tests.runs.acting import Crm, agents_file, crm
from tests.runs.aging import age
from tests.stand_ins.bot_service import BOT, RESOURCE, TOKEN, BotService, Message, card_of
from tests.stand_ins.entra import ADA, BEN, STAFF
from tests.stand_ins.identity_endpoint import IdentityEndpoint
from tests.stand_ins.openai_service import OpenAIStandIn

CAM, DOT = "cccccccc-0000-4000-8000-000000000003", "dddddddd-0000-4000-8000-000000000004"
"""Users: one in a group of approvers, and an approver."""
KEY = "a-key-of-an-approver"
"""The key of an approver."""
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def service(bot_service: BotService) -> BotService:
    bot_service.begin_anew()
    return bot_service


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def only_server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


@pytest.fixture
def server(only_server: Crm) -> Crm:
    only_server.dropped.clear()
    return only_server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def env(
    bot_service: BotService, only_server: Crm, openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("clerk")
    file = await asyncio.to_thread(agents_file, folder, only_server.url)
    async with IdentityEndpoint(TOKEN, BOT) as identity:
        yield {
            **openai.settings,
            **NO_VECTORS,
            **bot_service.settings,
            **identity.environment,
            "AZURE_CLIENT_ID": BOT,
            "AGENTS_FILE": str(file),
            "CHAT_AGENT": "Clerk",
            "AUTH_MODE": "api-key",
            "API_KEYS": f"boss:{sha256(KEY.encode()).hexdigest()}",
            **bot_service.single_sign_on,
            "APPROVERS": f"boss,{STAFF},{DOT}",
            "DATA_DIR": str(folder),
        }


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(env: dict[str, str]) -> AsyncGenerator[RunningHost]:
    async with host_beside(env=env) as host:
        yield host


def titles(card: Any) -> list[str]:
    return [one["title"] for one in card.get("actions", [])]


async def asked(
    http: aiohttp.ClientSession, host: RunningHost, service: BotService, openai: OpenAIStandIn, conversation: str = ""
) -> Message:
    """Ask for what needs consent; return the message with the card."""
    openai.call_tool("crm_drop", {"name": "x"})
    assert await post(http, host, service, service.message("Drop it.", conversation)) == (202, None)
    return (await service.finals(2, conversation))[1]


async def test_who_asked_decides_once_and_only_in_the_same_conversation(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    message = await asked(http, host, service, openai)
    card = card_of(message)
    assert titles(card) == ["Approve", "Decline"]
    assert 'name: "x"' in str(card)
    refused = (
        with_token(service, service.press(card, "approve", user=BEN), BEN),
        service.press(card, "approve", service.group),
        service.press(card, "look", user=BEN),
        service.press(card, "approve", service.group, DOT),
    )
    forged = service.press(card, "approve")
    forged["value"]["action"]["data"] = {"approval": "0" * 32}
    for activity in (*refused, forged):
        status, body = await post(http, host, service, activity)
        assert (status, body["statusCode"]) == (200, 403)
    looked = (await post(http, host, service, service.press(card, "look")))[1]
    assert (looked["statusCode"], titles(looked["value"]), server.dropped) == (200, ["Approve", "Decline"], [])
    openai.reply("x is dropped.")
    for verb in ("approve", "approve", "decline"):
        status, body = await post(http, host, service, service.press(card, verb))
        assert (verb, status, body["statusCode"], titles(body["value"])) == (verb, 200, 200, [])
        assert "Approved." in str(body["value"])
    answer = (await service.finals(3))[2]
    assert (answer.activity["text"].endswith("x is dropped."), server.dropped) == (True, ["x"])
    assert (titles(card_of(message)), message.edits) == ([], 1)  # everybody's card is updated


def with_token(service: BotService, pressed: dict[str, Any], user: str, *groups: str) -> dict[str, Any]:
    """What Teams sends again, after it was told to sign its user in."""
    token = service.user_token(oid=user, groups=[*groups])
    pressed["value"]["authentication"] = {"id": "x-1", "connectionName": "sso", "token": token}
    return pressed


async def test_an_approver_of_a_group_decides_by_the_card_with_a_token_of_single_sign_on(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    message = await asked(http, host, service, openai, service.group)
    pressed = service.press(card_of(message), "approve", service.group, CAM)
    _, body = await post(http, host, service, pressed)
    login = "application/vnd.microsoft.activity.loginRequest"
    assert (body["statusCode"], body["type"], body["value"]["tokenExchangeResource"]["uri"]) == (401, login, RESOURCE)
    _, body = await post(http, host, service, with_token(service, pressed, ADA, STAFF))  # somebody else's
    assert (body["statusCode"], body["type"]) == (412, "application/vnd.microsoft.error.preconditionFailed")
    assert server.dropped == []
    openai.reply("x is dropped.")
    for _ in range(2):
        _, body = await post(http, host, service, with_token(service, pressed, CAM, STAFF))
        assert (body["statusCode"], titles(body["value"])) == (200, [])
    answer = (await service.finals(3, service.group))[2]
    assert (answer.activity["text"].endswith("x is dropped."), server.dropped) == (True, ["x"])


async def test_an_approver_who_is_named_decides_by_the_card(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    message = await asked(http, host, service, openai, service.group)
    openai.reply("It is not dropped.")
    _, body = await post(http, host, service, service.press(card_of(message), "decline", service.group, DOT))
    assert "Declined." in str(body["value"])
    answer = (await service.finals(3, service.group))[2]
    assert (answer.activity["text"].endswith("It is not dropped."), server.dropped) == (True, [])


async def test_a_decision_of_an_approver_elsewhere_updates_the_card(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    message = await asked(http, host, service, openai)
    boss, url = {"Authorization": f"Bearer {KEY}"}, f"{host.url}/approvals"
    async with http.get(url, headers=boss) as response:
        (approval,) = (await response.json())["approvals"]
    openai.reply("It is not dropped.")
    async with http.post(f"{url}/{approval['id']}", json={"approved": False}, headers=boss) as response:
        assert (response.status, approval["tool"]) == (200, "drop")
    answer = (await service.finals(3))[2]
    assert (answer.activity["text"].endswith("It is not dropped."), server.dropped) == (True, [])
    assert (titles(card_of(message)), "Declined." in str(card_of(message)), message.edits) == ([], True, 1)
    late = await post(http, host, service, service.press(card_of(message), "look"))
    assert "Declined." in str(late)


async def test_a_button_that_is_pressed_at_once_counts(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    pressing: list[asyncio.Task[Any]] = []

    def press(message: Message) -> None:
        activity = service.press(card_of(message), "decline")
        pressing.append(asyncio.create_task(post(http, host, service, activity)))

    service.pressed = press
    openai.call_tool("crm_drop", {"name": "x"})
    openai.reply("It is not dropped.")
    assert await post(http, host, service, service.message("Drop it.")) == (202, None)
    answer = (await service.finals(3))[2]
    assert [(await task)[1]["statusCode"] for task in pressing] == [200]
    assert (answer.activity["text"], server.dropped) == ("It is not dropped.", [])


async def test_a_killed_app_runs_the_tool_once_after_the_card_was_pressed(
    env: dict[str, str],
    service: BotService,
    server: Crm,
    openai: OpenAIStandIn,
    http: aiohttp.ClientSession,
    tmp_path: Path,
) -> None:
    env = {**env, "DATA_DIR": str(tmp_path)}
    first = RunningHost(REPOSITORY, env, ("--port", "0"))
    try:
        await asyncio.to_thread(first.wait_for, "Switchboard is ready")
        message = await asked(http, first, service, openai)
        openai.hang()
        number = len(openai.requests) + 1
        status, _ = await post(http, first, service, service.press(card_of(message), "approve"))
        await openai.request_number(number)
        assert (status, server.dropped) == (200, ["x"])
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)
    await age(FolderObjects(tmp_path / "batches"))  # the dead host's claims
    openai.reply("x is dropped.")
    async with host_beside(env=env):
        answer = (await service.finals(3))[2]
        assert (answer.activity["text"].endswith("x is dropped."), server.dropped) == (True, ["x"])


async def test_the_response_has_the_card_and_then_the_answer(
    host: RunningHost, service: BotService, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.call_tool("crm_drop", {"name": "x"})
    asked = service.message("Drop it.", deliveryMode="expectReplies")
    _, body = await post(http, host, service, asked)
    card = body["activities"][-1]["attachments"][0]["content"]
    openai.reply("x is dropped.")
    pressed = service.press(card, "approve", deliveryMode="expectReplies")
    _, body = await post(http, host, service, pressed)
    response, answer = body["activities"]
    assert (response["type"], response["value"]["body"]["statusCode"]) == ("invokeResponse", 200)
    assert (answer["text"].endswith("x is dropped."), server.dropped, service.sent) == (True, ["x"], [])
