"""Activities of Azure Bot Service through the running app, with a stand-in that signs them and is the connector."""

import asyncio
import json
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import AsyncGenerator
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from shared.runs.folder_objects import FolderObjects
from tests.app.conftest import LABEL, NO_VECTORS, hosted
from tests.local.running_host import REPOSITORY, RunningHost
from tests.runs.aging import age
from tests.stand_ins.bot_service import BOT, TOKEN, BotService, Message, citations_of, labels_of, refusal
from tests.stand_ins.entra import OTHER_TENANT
from tests.stand_ins.identity_endpoint import IdentityEndpoint
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "What does the Standard plan pay for dental care?"
PNG = a2b_base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
LATE = "This takes longer than usual. The answer will appear here."
SAID = "It pays 80 % [plan.pdf#page=3]."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def identity() -> AsyncGenerator[IdentityEndpoint]:
    async with IdentityEndpoint(TOKEN, BOT) as identity:
        yield identity
        assert set(identity.asked) == {"https://api.botframework.com"}


@pytest.fixture
def service(bot_service: BotService) -> BotService:
    bot_service.begin_anew()
    return bot_service


@pytest.fixture(scope="module")
def env(
    bot_service: BotService, identity: IdentityEndpoint, openai: OpenAIStandIn, concurrent: dict[str, str]
) -> dict[str, str]:
    bot = bot_service.settings | identity.environment | {"AZURE_CLIENT_ID": BOT}
    return openai.settings | NO_VECTORS | bot | concurrent


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bot(env: dict[str, str], data_dir: Path) -> AsyncGenerator[RunningHost]:
    async with hosted(data_dir, env) as host:
        yield host


async def post(
    http: aiohttp.ClientSession, host: RunningHost, service: BotService, activity: Any, **claims: Any
) -> tuple[int, Any]:
    async with http.post(f"{host.url}/messages", json=activity, headers=service.signed(**claims)) as response:
        return response.status, json.loads(await response.text() or "null")


async def answered(
    http: aiohttp.ClientSession, host: RunningHost, service: BotService, activity: Any, count: int = 1
) -> Message:
    """Send an activity, and wait for the message in its conversation that is the newest of so many."""
    assert await post(http, host, service, activity) == (202, None)
    return (await service.finals(count, activity["conversation"]["id"]))[count - 1]


async def test_one_turn_for_three_deliveries(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    go_on = asyncio.Event()
    openai.reply("It pays", go_on, " 80 % [plan.", "pdf#page=3].<<Who pays the rest?>>")
    activity = service.message(QUESTION)
    first = await asyncio.gather(*(post(http, bot, service, activity) for _ in range(2)))
    await service.until(lambda: any(len(one.stream) > 1 for one in service.messages.values()))
    go_on.set()
    (message,) = await service.finals(1)
    assert [*first, await post(http, bot, service, activity)] == [(202, None)] * 3
    assert message.activity["text"] == "It pays 80 % [1]."
    assert citations_of(message.activity) == [(1, "plan.pdf#page=3")]
    assert labels_of(message.activity) == (LABEL, [LABEL])
    assert message.activity["channelData"] == {"feedbackLoop": {"type": "default"}}
    assert [one["value"] for one in message.activity["suggestedActions"]["actions"]] == ["Who pays the rest?"]
    assert message.activity["replyToId"] == activity["id"]
    assert [one["text"] for one in message.stream] == ["Searching the documents…", "It pays"]
    times = [at for at, *_ in service.sent]
    assert all(later - before >= 0.95 for before, later in pairwise(times))
    assert len(service.sent) == 3

    judged = service.activity("invoke", name="message/submitAction", replyToId=message.id)
    thumb = {"reaction": "like", "feedback": json.dumps({"feedbackText": "Good."})}
    judged["value"] = {"actionName": "feedback", "actionValue": thumb}
    assert await post(http, bot, service, judged) == (200, {})
    assert (await post(http, bot, service, judged | {"replyToId": "m-99"}))[0] == 404

    await answered(http, bot, service, service.message("And the rest?"), 2)
    assert QUESTION in str(openai.requests[-1].body)  # the second turn knows the first one
    new = await answered(http, bot, service, service.message("/new", locale="de-DE"), 3)
    assert new.activity["text"].startswith("Dies ist eine neue Unterhaltung")
    openai.reply("I do not know.")
    await answered(http, bot, service, service.message("And now?"), 4)
    assert QUESTION not in str(openai.requests[-1].body)


async def test_a_group_gets_one_message_and_a_bot_that_is_added_says_hello(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply(SAID)
    message = await answered(http, bot, service, service.message(QUESTION, service.group))
    assert (message.activity["text"], message.stream) == ("It pays 80 % [1].", [])
    assert "suggestedActions" not in message.activity
    sent = [(one["type"], one.get("text")) for *_, one in service.sent]
    assert sent == [("typing", None), ("message", "It pays 80 % [1].")]
    assert "<at>" not in str(openai.requests[-1].body)
    openai.reply(SAID)
    quote = '<blockquote itemtype="http://schema.skype.com/Reply"><p itemprop="preview">What of <b>glasses</b>?</p>'
    html = {"contentType": "text/html", "content": f"{quote}</blockquote><p>And this?</p>"}
    await answered(http, bot, service, service.message("And this?", service.group, attachments=[html]), 2)
    assert "> What of glasses?\\n\\nAnd this?" in str(openai.requests[-1].body)
    added = service.activity("conversationUpdate", membersAdded=[{"id": f"28:{BOT}"}], locale="fr-FR")
    assert (await answered(http, bot, service, added)).activity["text"].startswith("Bonjour")
    somebody = service.activity("conversationUpdate", membersAdded=[{"id": "29:x"}])
    for ignored in (somebody, service.activity("typing"), service.activity("messageReaction")):
        assert await post(http, bot, service, ignored) == (202, None)
    assert len(service.sent) == 5


async def test_the_response_has_the_answer_where_the_activity_wants_it(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply(SAID)
    activity = service.message(QUESTION, service.group, deliveryMode="expectReplies")
    status, body = await post(http, bot, service, activity)
    assert (status, [one["text"] for one in body["activities"]]) == (200, ["It pays 80 % [1]."])
    assert await post(http, bot, service, activity) == (200, body)  # the same run, and no model call
    openai.reply("It pays", " 80 % [plan.pdf#page=3].")
    streamed = service.message(QUESTION, deliveryMode="stream")
    async with http.post(f"{bot.url}/messages", json=streamed, headers=service.signed()) as response:
        assert response.content_type == "text/event-stream"
        events = (await response.text()).strip().split("\n\n")
    sent = [json.loads(event.removeprefix("event: activity\ndata: ")) for event in events]
    assert sent[-1]["text"] == "It pays 80 % [1]."
    assert [one["entities"][0]["streamType"] for one in sent] == [*["streaming"] * (len(sent) - 1), "final"]
    assert service.sent == []


@pytest.mark.parametrize(
    "refused",
    ["not allowed", "late", "busy", "precondition", "broken", "down for a while"],
)
async def test_a_message_comes_whatever_the_connector_refuses_first(
    refused: str, bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    no_stream = refusal(403, "ContentStreamNotAllowed", "Content stream is not allowed")
    busy = refusal(429, "TooManyRequests", "API calls quota exceeded", retry_after="1")
    faults = {
        "not allowed": [no_stream],
        "busy": [lambda: None, busy],
        "precondition": [lambda: None, refusal(412, "PreconditionFailed", "Precondition failed")],
        "broken": [lambda: None, refusal(500, "ServiceError", "…")],
        "down for a while": [refusal(502, "ServiceError", "…"), refusal(502, "ServiceError", "…")],
    }
    service.refusals.extend(faults.get(refused, []))
    if refused == "late":
        service.stream_seconds = 0
    openai.reply(SAID)
    before = bot.log()
    message = await answered(http, bot, service, service.message(QUESTION))
    if refused == "late":
        await service.until(lambda: message.activity["text"] == "It pays 80 % [1].")
        assert message.edits == 1
    assert message.activity["text"] == "It pays 80 % [1]."
    assert len(service.messages) == 1
    assert "not sent" not in bot.log().removeprefix(before)  # else the run goes on later


async def test_a_long_answer_is_split_at_paragraphs_and_an_error_is_said(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    paragraphs = [f"{number} " + "word " * 1_500 for number in range(6)]
    openai.reply("\n\n".join(paragraphs))
    await answered(http, bot, service, service.message(QUESTION, service.group), 3)
    texts = [one.activity["text"] for one in await service.finals(3, service.group)]
    assert "\n\n".join(texts) == "\n\n".join(paragraphs)
    assert {text[0] for text in texts} == {"0", "2", "4"}
    too_long = await answered(http, bot, service, service.message("word " * 9_000))
    assert "shorten it" in too_long.activity["text"]


async def test_each_agent_of_a_team_says_a_message_and_tables_are_lists(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    for _ in range(2):
        openai.reply("# Plans\n\n| Plan | Pays |\n|---|---|\n| Standard | 80 % |")
    await answered(http, bot, service, service.message("/team Which plan?"), 2)
    said = [one.activity["text"] for one in await service.finals(2)]
    drawn = "**Plans**\n\n- **Plan:** Standard · **Pays:** 80 %"
    assert sorted(said) == [f"**Alpha**\n\n{drawn}", f"**Beta**\n\n{drawn}"]
    assert "/team" not in str(openai.requests[-1].body)


async def test_files_of_a_user_are_read_and_nothing_is_fetched_from_elsewhere(
    bot: RunningHost, service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    service.files = {"/share/rates.txt": b"Rate A is 7 %.", "/v3/attachments/1/views/original": PNG}
    download = {"downloadUrl": f"{service.endpoint}/share/rates.txt", "uniqueId": "1", "fileType": "txt"}
    kind = "application/vnd.microsoft.teams.file.download.info"
    document = {"contentType": kind, "content": download, "name": "rates.txt"}
    image = {"contentType": "image/*", "contentUrl": f"{service.endpoint}/v3/attachments/1/views/original"}
    openai.reply("It is 7 %.")
    await answered(http, bot, service, service.message("", attachments=[document, image]))
    asked = str(openai.requests[-1].body)
    assert all(text in asked for text in ("Rate A is 7 %.", "What does this file say?", b64encode(PNG).decode()))
    elsewhere = [
        {"contentType": "image/png", "contentUrl": "https://evil.example/a.png"},
        {"contentType": "image/png", "contentUrl": "http://169.254.169.254/metadata"},
        {"contentType": kind, "content": {"downloadUrl": "https://evil-sharepoint.com/a"}, "name": "a"},
        {"contentType": kind, "content": {"downloadUrl": "http://x.sharepoint.com/a"}, "name": "a"},
        {"contentType": "image/png", "contentUrl": f"{service.endpoint}/missing"},
    ]
    sentences = ["is where nothing is fetched from"] * 4 + ["could not be fetched"]
    for number, (one, sentence) in enumerate(zip(elsewhere, sentences, strict=True), 2):
        said = await answered(http, bot, service, service.message("And this?", attachments=[one]), number)
        assert sentence in said.activity["text"]


async def test_only_the_bots_tenant_may_talk_to_it(
    bot: RunningHost, service: BotService, http: aiohttp.ClientSession
) -> None:
    elsewhere, guest = service.message(QUESTION), service.message(QUESTION)
    elsewhere["conversation"]["tenantId"] = guest["from"]["tenantId"] = OTHER_TENANT
    evil = service.message(QUESTION, serviceUrl="https://evil.example/")
    for activity in (elsewhere, guest, evil, service.message(QUESTION, channelId="slack")):
        assert (await post(http, bot, service, activity))[0] == 403
    assert (await post(http, bot, service, service.message(QUESTION), aud="other"))[0] == 401
    wrong: list[Any] = [
        {},
        {"type": 7},
        service.message(QUESTION) | {"conversation": {}},
        service.message("x", id="9" * 2_000),
    ]
    for activity in wrong:
        assert (await post(http, bot, service, activity))[0] == 400
    assert service.sent == []


async def test_an_app_without_a_bot_takes_no_activity(
    built_in: RunningHost, service: BotService, http: aiohttp.ClientSession
) -> None:
    status, body = await post(http, built_in, service, service.message(QUESTION))
    assert (status, "BOT_ID" in body["error"]) == (404, True)


async def test_a_killed_app_answers_once_when_it_is_back(
    env: dict[str, str], service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    env = {**env, "DATA_DIR": str(tmp_path)}
    asked = [service.message(QUESTION, conversation) for conversation in (service.personal, service.group)]
    first = RunningHost(REPOSITORY, env, ("--port", "0"))
    try:
        await asyncio.to_thread(first.wait_for, "Switchboard is ready")
        number = len(openai.requests) + len(asked)
        for activity in asked:
            openai.hang()
            assert await post(http, first, service, activity) == (202, None)
        await openai.request_number(number)
        await service.until(lambda: len(service.sent) >= len(asked))
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)
    await age(FolderObjects(tmp_path / "batches"))  # the dead host's claims
    openai.reply("It pays well.")
    openai.reply("It pays well.")
    async with hosted(tmp_path, env) as host:
        for activity in asked:
            assert await post(http, host, service, activity) == (202, None)
            (message,) = await service.finals(1, activity["conversation"]["id"])
            assert message.activity["text"] == "It pays well."
    assert len(service.messages) == len(asked)


SOON = """
import runpy
import shared.runs.delivery
import shared.runs.upkeep
shared.runs.upkeep._SWEEP_SECONDS = 0.2
shared.runs.delivery._STREAM_SECONDS = 1.5
runpy.run_module("local", run_name="__main__")
"""


class Impatient(RunningHost):
    """A host that looks for runs to go on with at once, and not after fifteen seconds; and streams no two minutes."""

    run = ("-c", SOON)


async def test_a_slow_answer_outlives_its_stream_and_is_sent_when_the_connector_is_back(
    env: dict[str, str], service: BotService, openai: OpenAIStandIn, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    down = [True]

    def refuse() -> Any:
        if down:
            service.refusals.append(refuse)
            return refusal(503, "ServiceUnavailable", "…", retry_after="99")
        return None

    host = Impatient(REPOSITORY, env | {"DATA_DIR": str(tmp_path)}, ("--port", "0"))
    try:
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        go_on = asyncio.Event()
        openai.reply("It pays", go_on, " all.")
        assert await post(http, host, service, service.message(QUESTION)) == (202, None)
        (slow,) = await service.finals(1)
        assert (slow.activity["text"], slow.edits) == ("It pays\n\n" + LATE, 1)
        go_on.set()
        await service.until(lambda: slow.activity["text"] == "It pays all.")
        assert (slow.edits, len(service.messages)) == (2, 1)
        service.begin_anew()
        openai.reply("It pays well.")
        service.refusals.append(refuse)
        assert await post(http, host, service, service.message(QUESTION)) == (202, None)
        await asyncio.to_thread(host.wait_for, "a run was interrupted")
        down.clear()
        (message,) = await service.finals(1)
    finally:
        await asyncio.to_thread(host.stop)
    assert message.activity["text"] == "It pays well."
