"""Calls that need consent, in the clients of each protocol: they show what waits, and the answer goes on as decided."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
import openai as sdk
import pytest
import pytest_asyncio
from mcp import Client as McpClient
from mcp_types import ElicitRequestParams, ElicitResult, TextContent

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.openai_sdk import MODEL, client_of
from tests.app.test_continue import flat, kernel, package, plain
from tests.clients import ag_ui, ai_sdk
from tests.clients.asking import Client
from tests.clients.openai_responses import respond
from tests.clients.rows import ROWS, Row
from tests.clients.situations import STOP
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.runs.acting import Crm, agents_file, crm
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

ASKED = "Look up order 1, then drop x."
LOOKED = "order 1 is open"
DONE, KEPT = "x is gone.", "x stays."
WRITTEN = {True: DONE, False: KEPT}
SAID = {True: f"crm.drop was done: x is dropped\n\n{DONE}", False: KEPT}
"""What the model writes, and what is read of it: the app says itself what was done."""
UNDONE = "*(crm.drop: not done, since your message did not agree to it as was asked. Ask again.)*\n\n"
EITHER = pytest.mark.parametrize("approved", [True, False])


@dataclass(frozen=True, slots=True)
class Acting:
    """An app with an agent that acts, and what its server was really asked to do."""

    host: RunningHost
    server: Crm
    model: OpenAIStandIn

    def will_ask(self) -> None:
        """Let the model look up an order, and then want to drop one."""
        self.server.looked.clear()
        self.server.dropped.clear()
        self.model.call_tool("crm_look", {"number": 1})
        self.model.call_tool("crm_drop", {"name": "x"})

    def has_run(self, approved: bool) -> bool:
        """Whether what needs no consent has run once, and what needs it has run once if it has it, else never."""
        return (self.server.looked, self.server.dropped) == ([1], ["x"] if approved else [])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def acting(openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Acting]:
    folder = tmp_path_factory.mktemp("acting")
    async with crm() as server:
        file = agents_file(folder, server.url)
        env = openai.settings | NO_VECTORS | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}
        async with hosted(folder, env) as host:
            yield Acting(host, server, openai)


def phrase_in(answer: str) -> str:
    return re.findall("approve [A-Z0-9]{4}", answer)[0]


def of_type(output: Any, kind: str) -> Any:
    (found,) = (item for item in output if item["type"] == kind)
    return found


def said_in(output: Any) -> str:
    return "".join(part["text"] for item in output if item["type"] == "message" for part in item["content"])


@EITHER
@pytest.mark.parametrize("client", one_in(2, ["whole", "helper"]))
@pytest.mark.usefixtures("openai_responses")
async def test_openais_package_answers_with_the_id_alone(acting: Acting, client: str, approved: bool) -> None:
    ask = partial(respond, client, f"{acting.host.url}/v1", model=MODEL)
    acting.will_ask()
    paused = (await ask(input=ASKED))["response"]
    looked, open_call = of_type(paused["output"], "mcp_call"), of_type(paused["output"], "mcp_approval_request")
    assert (looked["name"], looked["output"], looked["status"]) == ("look", LOOKED, "completed")
    assert (open_call["server_label"], open_call["name"], open_call["arguments"]) == ("crm", "drop", '{"name":"x"}')
    assert acting.has_run(approved=False)
    acting.model.reply(WRITTEN[approved])
    answer = {"type": "mcp_approval_response", "approval_request_id": open_call["id"], "approve": approved}
    ended = (await ask(input=[answer], previous_response_id=paused["id"]))["response"]
    called = of_type(ended["output"], "mcp_call")
    assert (called["status"], said_in(ended["output"])) == ("completed" if approved else "failed", SAID[approved])
    assert called["approval_request_id"] == open_call["id"]
    assert acting.has_run(approved)
    acting.model.reply("You are welcome.")
    later = (await ask(input="Thank you.", previous_response_id=ended["id"]))["response"]
    assert said_in(later["output"]) == "You are welcome."
    told = str(acting.model.chats[-1].body["messages"])
    assert [ASKED in told, WRITTEN[approved] in told, "Thank you." in told] == [True] * 3


@EITHER
@pytest.mark.usefixtures("openai_responses")
@pytest.mark.parametrize("options", one_in(2, [{}, {"openai": {"store": False}}]))
async def test_ai_sdks_provider_for_openai_answers_after_the_items(
    acting: Acting, options: dict[str, Any], approved: bool
) -> None:
    ask = partial(respond, "aiSdk", f"{acting.host.url}/v1", model=MODEL, providerOptions=options)
    acting.will_ask()
    paused = await ask(input=[{"role": "user", "content": ASKED}])
    request = of_type(paused["seen"], "tool-approval-request")
    assert acting.has_run(approved=False)
    acting.model.reply(WRITTEN[approved])
    answer = {
        "type": "tool-approval-response",
        "approvalId": request["approvalId"],
        "approved": approved,
        "providerExecuted": True,
    }
    asked = [{"role": "user", "content": ASKED}, *paused["messages"], {"role": "tool", "content": [answer]}]
    ended = await ask(input=asked)
    assert (ended["text"], acting.has_run(approved)) == (SAID[approved], True)
    acting.model.reply("You are welcome.")
    thanks = {"role": "user", "content": "Thank you."}
    assert (await ask(input=[*asked, *ended["messages"], thanks]))["text"] == "You are welcome."
    messages: Any = acting.model.chats[-1].body["messages"]
    assert SAID[approved] in [one.get("content") for one in messages]


@EITHER
@pytest.mark.usefixtures("ai_sdk")
@pytest.mark.parametrize(
    "version", [*(pytest.param(older, marks=pytest.mark.nightly) for older in ("ai-5", "ai-6")), "ai-7"]
)
async def test_ai_sdk_asks_in_the_part_of_the_call(acting: Acting, version: str, approved: bool) -> None:
    acting.will_ask()
    acting.model.reply(WRITTEN[approved])
    body = {} if version == "ai-5" else {"approvals": "parts"}
    paused, ended = await ai_sdk.chat(
        version,
        f"{acting.host.url}/ai-sdk/chat",
        {"do": "send", "text": ASKED, "body": body},
        {"do": "decide", "approved": approved},
    )
    looked, dropped = (part for part in paused["message"]["parts"] if part["type"] == "dynamic-tool")
    assert (looked["toolName"], looked["state"], looked["output"]) == (
        "crm.look",
        "output-available",
        LOOKED,
    )
    state = "input-available" if version == "ai-5" else "approval-requested"
    assert (dropped["toolName"], dropped["state"], dropped["input"]) == ("crm.drop", state, {"name": "x"})
    assert (paused["status"], paused.get("error"), ended.get("error")) == ("ready", None, None)
    assert len(ended["messages"]) == 2
    decided = next(part for part in ended["message"]["parts"] if part.get("toolCallId") == dropped["toolCallId"])
    refused = "output-error" if version == "ai-5" else "output-denied"
    assert decided["state"] == ("output-available" if approved else refused)
    assert [part["text"] for part in ended["message"]["parts"] if part["type"] == "text"][-1] == SAID[approved]
    assert acting.has_run(approved)


@EITHER
@pytest.mark.usefixtures("ag_ui")
@pytest.mark.parametrize("version", [pytest.param("0.0.57", marks=pytest.mark.nightly), ag_ui.VERSIONS[-1]])
async def test_ag_ui_interrupts_the_run(acting: Acting, version: str, approved: bool) -> None:
    acting.will_ask()
    acting.model.reply(WRITTEN[approved])
    paused, ended = await ag_ui.run(
        version, f"{acting.host.url}/ag-ui", ag_ui.step(ASKED), {"decides": {"approved": approved}}
    )
    (interrupt,) = paused.events[-1]["outcome"]["interrupts"]
    assert (interrupt["reason"], interrupt["metadata"]["tool"]) == ("tool_call", "drop")
    results = [message["content"] for message in paused.messages if message["role"] == "tool"]
    assert results == [LOOKED]
    assert ended.thrown is None
    assert (ended.text, acting.has_run(approved)) == (SAID[approved], True)
    calls = [call["id"] for message in ended.messages for call in message.get("toolCalls", ())]
    results = [message["toolCallId"] for message in ended.messages if message["role"] == "tool"]
    assert (calls, len(results)) == (results, 2)


@EITHER
async def test_a_chat_in_text_asks_for_a_phrase(acting: Acting, approved: bool) -> None:
    acting.will_ask()
    async with client_of(acting.host) as client:
        messages: list[Any] = [{"role": "user", "content": ASKED}]
        paused = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0]
        text = paused.message.content or ""
        assert (paused.finish_reason, paused.message.tool_calls) == ("stop", None)
        assert 'name: "x"' in text
        phrases: Any = (paused.message.model_extra or {})["context"]["followup_questions"]
        assert all(f"`{phrase}`" in text for phrase in phrases)
        assert f"{acting.host.url}/approvals/" in text
        assert acting.has_run(approved=False)
        acting.model.reply(WRITTEN[approved])
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": phrases[not approved]}]
        for _ in range(2):  # a page's "Regenerate" sends it again
            ended = await client.chat.completions.create(model=MODEL, messages=messages)
            assert (ended.choices[0].message.content, acting.has_run(approved)) == (SAID[approved], True)
        messages[-1]["content"] = phrases[approved]
        with pytest.raises(sdk.ConflictError, match="before"):
            await client.chat.completions.create(model=MODEL, messages=messages)


@pytest.mark.parametrize("written", ["{}.", "`{}`", "„{}“", " {} please!", "*{}*"])
async def test_a_phrase_counts_as_phones_and_copies_write_it(acting: Acting, written: str) -> None:
    acting.will_ask()
    async with client_of(acting.host) as client:
        messages: list[Any] = [{"role": "user", "content": ASKED}]
        paused = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0].message
        approve = ((paused.model_extra or {})["context"]["followup_questions"])[0]
        acting.model.reply(SAID[True])
        told = written.format(approve.capitalize())
        messages += [{"role": "assistant", "content": paused.content}, {"role": "user", "content": told}]
        ended = await client.chat.completions.create(model=MODEL, messages=messages)
    assert (ended.choices[0].message.content or "").endswith(SAID[True])
    assert acting.has_run(approved=True)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("v1/chat/completions", plain),
        ("openai/deployments/gpt-4o/chat/completions", plain),
        ("semantic-kernel/chat", kernel),
        ("semantic-kernel/chat/stream", flat),
        ("semantic-kernel-python/chat", package),
        ("chat", plain),
        ("rag-chat/chat/stream", plain),
        ("ai-chat-2024-05-29/chat", plain),
        ("ai-chat-2026-04/chat/stream", plain),
    ],
)
async def test_each_wire_in_text_says_that_a_yes_is_no_consent_and_takes_the_phrase_as_people_write_it(
    acting: Acting, http: aiohttp.ClientSession, path: str, said: Callable[[str, str | None], Any]
) -> None:
    async def ask(*texts: str) -> str:
        sent = [said(("user", "assistant")[at % 2], text) for at, text in enumerate(texts)]
        async with http.post(f"{acting.host.url}/{path}", json={"messages": sent}) as response:
            assert response.status == 200
            return await response.text()

    acting.will_ask()
    first = phrase_in(await ask(ASKED))
    acting.will_ask()
    again = await ask(ASKED, f"Answer `{first}`.", "Yes.")
    assert "crm.drop: not done, since your message did not agree" in again
    assert acting.has_run(approved=False)
    second = phrase_in(again)
    assert second != first
    acting.model.reply(DONE)
    done = await ask(ASKED, f"Answer `{first}`.", "Yes.", f"Answer `{second}`.", f"„{second.lower()}“.")
    assert "crm.drop was done: x is dropped" in done
    assert acting.has_run(approved=True)


CANNOT = {("ag-ui", name) for name in (*ag_ui.VERSIONS[1:], "@copilotkit/runtime")} | {
    ("openai-responses", "openai-agents")
}
"""AG-UI's since 0.0.57 send no message while a card is open; Agents SDK looks for the server of a call and fails."""
TALKS = [row for row in ROWS if row.kind.remembers and (row.wire, row.package) not in CANNOT]


@pytest.mark.nightly
@pytest.mark.usefixtures("ag_ui", "ai_sdk", "copilotkit", "npm_clients", "openai_responses")
@pytest.mark.parametrize("row", TALKS, ids=[f"{row.wire} {row.title} {row.package}" for row in TALKS])
async def test_each_client_shows_that_a_yes_is_no_consent(
    row: Row,
    acting: Acting,
    npm_openai: Client,
    langchain: Client,
    python_clients: Client,
    older_python_clients: Client,
    open_webui: Client,
) -> None:
    programs = {"npm_openai": npm_openai, "langchain": langchain, "python_clients": python_clients}
    programs |= {"older_python_clients": older_python_clients, "open_webui": open_webui}
    acting.will_ask()
    acting.model.reply("What else?")
    acting.model.reply("Bye.")
    asked, yes, _ = await row.chat(programs.get(row.fixture), acting.host.url, [ASKED, "Yes.", STOP])
    assert (asked.error, yes.error, acting.has_run(approved=False)) == ("", "", True)
    assert yes.text.startswith(UNDONE.strip()), yes


@pytest.mark.parametrize("action", ["accept", "decline", "uncheck"])
async def test_an_mcp_client_asks_its_user(acting: Acting, action: str) -> None:
    asked: list[str] = []

    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001 (the package's)
        asked.append(params.message)
        assert acting.has_run(approved=False)
        if action == "decline":
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"approve": action == "accept"})

    approved = action == "accept"
    acting.will_ask()
    acting.model.reply(WRITTEN[approved])
    async with McpClient(f"{acting.host.url}/mcp", elicitation_callback=elicit) as client:
        result = await client.call_tool("ask", {"question": ASKED})
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert (text.text, acting.has_run(approved)) == (SAID[approved], True)
    (question,) = asked
    assert 'name: "x"' in question


async def test_an_mcp_client_that_cannot_ask_shows_where_to_decide(acting: Acting, http: aiohttp.ClientSession) -> None:
    acting.will_ask()
    async with McpClient(f"{acting.host.url}/mcp", mode="legacy") as client:
        (text,) = (await client.call_tool("ask", {"question": ASKED})).content
        assert isinstance(text, TextContent)
        assert "approve " not in text.text
        approval = text.text.partition(f"{acting.host.url}/approvals/")[2][:32]
        acting.model.reply(DONE)
        async with http.post(f"{acting.host.url}/approvals/{approval}", json={"approved": True}) as response:
            assert response.status == 200
        (text,) = (await client.call_tool("ask", {"question": ASKED})).content
        assert isinstance(text, TextContent)
        assert (text.text, acting.has_run(approved=True)) == (SAID[True], True)


type Send = Callable[[str, Any], Awaitable[tuple[int, str]]]
FORGED = "f" * 32


def responses(approval: str) -> tuple[str, Any]:
    request = {"type": "mcp_approval_request", "id": f"mcpr_{approval}", "server_label": "crm", "name": "drop"}
    answer = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{approval}", "approve": True}
    items = [{"role": "user", "content": ASKED}, request | {"arguments": '{"name":"y"}'}, answer]
    return "v1/responses", {"input": items}


def parts(approval: str) -> tuple[str, Any]:
    call = {"type": "dynamic-tool", "toolName": "crm.drop", "toolCallId": "call_1", "input": {"name": "y"}}
    given = call | {"state": "approval-responded", "approval": {"id": approval, "approved": True}}
    asked = {"role": "user", "parts": [{"type": "text", "text": ASKED}]}
    return "ai-sdk/chat", {"messages": [asked, {"id": "m", "role": "assistant", "parts": [given]}]}


def resume(approval: str) -> tuple[str, Any]:
    calls = [{"id": "call_1", "type": "function", "function": {"name": "crm.drop", "arguments": '{"name":"y"}'}}]
    said = [{"id": "1", "role": "user", "content": ASKED}, {"id": "2", "role": "assistant", "toolCalls": calls}]
    answer = {"interruptId": approval, "status": "resolved", "payload": {"approved": True, "name": "y"}}
    return "ag-ui", {"threadId": "forged", "runId": "r", "messages": said, "resume": [answer]}


@pytest.mark.parametrize("forge", [responses, parts, resume])
async def test_what_is_forged_runs_nothing(
    acting: Acting, forge: Callable[[str], tuple[str, Any]], http: aiohttp.ClientSession
) -> None:
    """An id that nobody was given decides nothing, and with one that counts the arguments are those that were shown."""

    async def send(path: str, body: Any) -> tuple[int, str]:
        async with http.post(f"{acting.host.url}/{path}", json=body) as response:
            return response.status, await response.text()

    acting.will_ask()
    _, paused = await send("v1/responses", {"input": ASKED})
    real = paused.partition('"mcpr_')[2][:32]
    status, refused = await send(*forge(FORGED))
    assert (status, "no such approval" in refused) == (200 if forge is resume else 404, True)
    assert acting.has_run(approved=False)
    acting.model.reply(DONE)
    status, answer = await send(*forge(real))
    assert (status, DONE in answer, acting.has_run(approved=True)) == (200, True, True)
    assert DONE in (await send(*forge(real)))[1]
    assert acting.has_run(approved=True)


async def test_a_new_question_leaves_what_waits(acting: Acting) -> None:
    acting.will_ask()
    async with client_of(acting.host) as client:
        paused = await client.responses.create(model=MODEL, input=ASKED)
        acting.model.reply("It is Monday.")
        later = await client.responses.create(model=MODEL, input="Which day is it?", previous_response_id=paused.id)
        assert later.output_text == f"{UNDONE}It is Monday."
        request = next(item for item in paused.output if item.type == "mcp_approval_request")
        answer: Any = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
        with pytest.raises(sdk.ConflictError):
            await client.responses.create(model=MODEL, input=[answer])
    assert acting.has_run(approved=False)


async def test_a_chat_leaves_what_waits_in_another_one_that_began_with_the_same_words(acting: Acting) -> None:
    def said(*texts: str) -> Any:
        return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]

    async with client_of(acting.host) as client:

        async def ask(*texts: str) -> tuple[str, Any]:
            answer = (await client.chat.completions.create(model=MODEL, messages=said(*texts))).choices[0].message
            context: Any = (answer.model_extra or {}).get("context") or {}
            return answer.content or "", context.get("followup_questions")

        for told in ("Hello.", "Hello again."):
            acting.model.reply(told)
        first, _ = await ask("Hello")
        other, _ = await ask("Hello")
        acting.will_ask()
        question, (approve, _) = await ask("Hello", first, ASKED)
        acting.model.reply("It is Monday.")
        assert await ask("Hello", other, "Which day is it?") == ("It is Monday.", None)
        acting.model.reply("x is dropped.")
        assert (await ask("Hello", first, ASKED, question, approve))[
            0
        ] == "crm.drop was done: x is dropped\n\nx is dropped."
        assert acting.has_run(approved=True)


async def test_equal_chats_that_both_wait_leave_only_their_own_question(acting: Acting) -> None:
    async with client_of(acting.host) as client:

        async def ask(*texts: str) -> Any:
            messages: Any = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
            answer = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0].message
            context: Any = (answer.model_extra or {}).get("context") or {}
            return answer.content, context.get("followup_questions")

        acting.will_ask()
        mine, (approve_mine, _) = await ask("Drop x, please.")
        acting.will_ask()
        theirs, (approve_theirs, _) = await ask("Drop x, please.")
        acting.model.reply("As you like.")
        await ask("Drop x, please.", theirs, "Never mind.")
        with pytest.raises(sdk.ConflictError):
            await ask("Drop x, please.", theirs, approve_theirs)
        acting.model.reply("x is dropped.")
        assert (await ask("Drop x, please.", mine, approve_mine))[
            0
        ] == "crm.drop was done: x is dropped\n\nx is dropped."
        assert acting.server.dropped == ["x"]


async def test_a_phrase_that_names_no_call_is_a_question_like_any_other(acting: Acting) -> None:
    async with client_of(acting.host) as client:
        acting.will_ask()
        messages: Any = [{"role": "user", "content": ASKED}]
        paused = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0].message
        approve = ((paused.model_extra or {})["context"]["followup_questions"])[0]
        acting.model.reply("Which call do you mean?")
        messages += [{"role": "assistant", "content": paused.content}, {"role": "user", "content": "approve OOOO"}]
        answer = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0].message
        assert answer.content == f"{UNDONE}Which call do you mean?"
        messages[-1]["content"] = approve
        with pytest.raises(sdk.ConflictError, match="abandoned"):
            await client.chat.completions.create(model=MODEL, messages=messages)
    assert acting.has_run(approved=False)


async def test_what_was_agreed_to_and_done_is_in_the_thoughts(acting: Acting, http: aiohttp.ClientSession) -> None:
    async def ask(*texts: str, state: Any = None) -> Any:
        said = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
        body = {"messages": said, "session_state": state}
        async with http.post(f"{acting.host.url}/ai-chat/chat", json=body) as response:
            return await response.json()

    acting.will_ask()
    asked = await ask(ASKED)
    assert asked["context"]["thoughts"][-1]["title"] == "Tool: crm.look"
    acting.model.reply("I'm sorry, but I can't assist with that.")
    approve = asked["context"]["followup_questions"][0]
    done = await ask(ASKED, asked["message"]["content"], approve, state=asked["session_state"])
    thoughts = [(one["title"], one["description"]) for one in done["context"]["thoughts"]]
    assert ("Tool: crm.drop", '{"name":"x"}') in thoughts
    assert thoughts[-1] == ("Approved call", "crm.drop was done: x is dropped")
