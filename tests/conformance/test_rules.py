"""Every rule of every client: it holds for a good answer, and it is seen to fail for an answer that breaks it."""

import json

import pytest

from tests.conformance.backend import Reply
from tests.conformance.canned import CONTEXT, good_answers, serving
from tests.conformance.cases import CASES, Case
from tests.conformance.cases_of_sdks import CASES_OF_SDKS
from tests.conformance.clients import CLIENTS, ag_ui, ai_sdk, openai_responses
from tests.conformance.reading import at
from tests.conformance.rules import run_client
from tests.conformance.spoiling import raw, status
from tests.wire.test_goldens import GOLDENS

NAMED = {client.name: client for client in CLIENTS}
ALL_CASES = [*CASES, *CASES_OF_SDKS]


@pytest.mark.parametrize("client", NAMED)
async def test_a_good_answer_holds_to_every_rule(client: str) -> None:
    async with serving(client) as (backend, _):
        cells = await run_client(NAMED[client], backend, "")
    assert [failure for cell in cells for failure in cell.failures] == []
    assert all(cell.checked for cell in cells)


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: " / ".join(case[:4]))
async def test_an_answer_that_breaks_a_rule_fails_it(case: Case) -> None:
    client, asked, title, rule, change = case
    async with serving(client, {asked: change}) as (backend, _):
        cells = await run_client(NAMED[client], backend, "")
    failed = {(failure.title, failure.rule) for cell in cells for failure in cell.failures}
    assert (title, rule) in failed


def test_every_rule_is_seen_to_fail() -> None:
    rules = {
        (client.name, probe.title, rule.name) for client in CLIENTS for probe in client.probes for rule in probe.rules
    }
    assert rules - {(client, title, rule) for client, _, title, rule, _ in ALL_CASES} == set()


async def test_a_line_split_between_two_http_chunks_breaks_the_web_component() -> None:
    line = json.dumps({"choices": [{"delta": {"content": "Eye exams", "context": CONTEXT}}]}).encode() + b"\n"
    async with serving("chat-component", {"POST chat stream": raw(line[:9])}) as (backend, _):
        cells = await run_client(NAMED["chat-component"], backend, "")
    assert any("HTTP chunk" in failure.sentence for cell in cells for failure in cell.failures)


async def test_a_route_that_is_missing_is_not_offered() -> None:
    gone = dict.fromkeys(good_answers()["chatui-multi-agent"], status(404))
    async with serving("chatui-multi-agent", gone) as (backend, _):
        cells = await run_client(NAMED["chatui-multi-agent"], backend, "")
    assert [(cell.checked, cell.failures) for cell in cells] == [(0, ()), (0, ())]


async def test_a_chat_is_deleted_again_whatever_goes_wrong() -> None:
    async with serving("chatui-history", {"PUT chat-history/1": status(500)}) as (backend, bodies):
        await run_client(NAMED["chatui-history"], backend, "")
    assert len(bodies) == 2 * len(["POST", "PUT", "DELETE"])  # two chats


async def test_the_web_component_sends_its_overrides_directly_in_the_context() -> None:
    async with serving("chat-component") as (backend, bodies):
        await run_client(NAMED["chat-component"], backend, "")
    assert at(bodies, 0, "context", "top") == 1
    assert at(bodies, 0, "context", "approach") == "rrr"


async def test_chatui_sends_messages_and_nothing_else() -> None:
    async with serving("chatui") as (backend, bodies):
        await run_client(NAMED["chatui"], backend, "")
    assert bodies[0] == {"messages": [{"role": "user", "content": "Are eye exams covered?"}]}


def test_what_a_model_thinks_breaks_no_rule_and_is_no_part_of_the_text() -> None:
    def streamed(protocol: str) -> Reply:
        return Reply(200, ((GOLDENS / protocol / "reasoning.jsonl").read_bytes(),))

    run = ag_ui.read_run(streamed("ag-ui"), {"threadId": "thread-0", "runId": "run-0"})
    response = openai_responses.read_stream(streamed("openai-responses"))
    texts = [run.messages[0]["content"], ai_sdk.read_stream(streamed("ai-sdk")).text, response.text]
    assert [str(text)[:8] for text in texts] == ["It pays "] * 3
    assert (response.role, response.streamed) == ("assistant", response.text)
