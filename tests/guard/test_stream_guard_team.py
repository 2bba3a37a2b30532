"""The messages of a team: each checked on its own, none waits for another."""

import asyncio
from collections.abc import AsyncGenerator
from copy import replace

import pytest

from shared.errors import ContentFiltered, InternalError, Unavailable, is_error_text
from shared.events import AgentMessage, AgentWork, CompletionStarted, DataPoint, Finished, Thought, Usage
from shared.guard import SafetyEvent
from shared.guard.chat_payloads import ANSWER, MORE
from tests.guard.guarding import STARTED, Outcome, Part, Turn, request, rules, watched
from tests.guard.scripted_safety import ScriptedSafety, ScriptedSession, blocks, honest, mute, unreachable

END = Finished("stop", Usage(10, 20))


def said(agent: str, position: int, text: str, *queries: str, last: bool = False) -> AgentMessage:
    return AgentMessage(
        agent,
        position,
        text,
        STARTED,
        Finished("stop", Usage(1, 2)),
        data_points=(DataPoint("a.md", "a"),),
        thoughts=(Thought("Generated search query", list(queries)),),
        tool_inputs=queries,
        total_usage=Usage(10, 20) if last else None,
    )


def failed(agent: str, position: int) -> AgentMessage:
    return AgentMessage(agent, position, "The model failed.", error=InternalError("The model failed."))


def totals(out: Outcome) -> list[bool]:
    return [message.total_usage is not None for message in out.messages]


async def test_each_message_is_checked_in_a_session_of_its_own_and_passes_whole_with_its_results() -> None:
    service = ScriptedSafety(honest(findings=True))
    parts: list[Part] = [STARTED, said("A", 0, "One.", "q1", "q2"), said("B", 1, "Two.", last=True), END]
    out = await watched(parts, rules(service), team=True)
    assert out.error is None
    assert sorted((message.agent, message.text) for message in out.messages) == [("A", "One."), ("B", "Two.")]
    assert totals(out) == [False, True]
    for message in out.messages:
        assert message.finished
        assert message.finished.content_filter_results == {"hate": {"filtered": False, "severity": "safe"}}
        safety = message.thoughts[-1]
        assert safety.title == "Safety"
        assert safety.props
        assert safety.props["prompt_filter_results"] == {"hate": {"filtered": False, "severity": "safe"}}
        assert message.data_points
    assert service.sessions[0].steps[1:] == ["commit", "finish"]
    texts = [session.texts for session in service.sessions[1:]]
    assert [text for text in texts if text.get(ANSWER) != "a.md: a"] == [
        {ANSWER: "One.", MORE: "q1\nq2"},
        {ANSWER: "Two."},
    ]
    assert isinstance(out.events[0], CompletionStarted)
    assert out.events[0].prompt_filter_results
    assert isinstance(out.events[-1], Finished)


@pytest.mark.parametrize(
    "bad",
    [said("A", 0, "a bomb"), said("A", 0, "Fine.", "bomb"), replace(said("A", 0, "Fine."), reasoning="A bomb?")],
    ids=["text", "query", "reasoning"],
)
async def test_a_forbidden_message_becomes_an_error_that_quotes_nothing_and_the_others_go_on(bad: AgentMessage) -> None:
    parts: list[Part] = [STARTED, bad, said("B", 1, "Two.", last=True), END]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))), team=True)
    assert out.error is None
    by_agent = {message.agent: message for message in out.messages}
    assert by_agent["B"].text == "Two."
    refused = by_agent["A"]
    assert isinstance(refused.error, ContentFiltered)
    assert refused.error.results
    assert refused.text.startswith(refused.error.message)
    assert is_error_text(refused.text)
    assert refused.position == 0
    assert "bomb" not in repr(out.events)
    assert totals(out) == [False, True]


async def test_a_forbidden_question_ends_the_turn_before_any_message() -> None:
    turn = Turn([STARTED, said("A", 0, "One."), asyncio.Event()])
    out = await watched(turn, rules(ScriptedSafety(honest("bomb"))), request("bomb"), team=True)
    assert isinstance(out.error, ContentFiltered)
    assert out.events == []
    assert turn.closed.is_set()


async def test_no_message_waits_for_anothers_check_and_the_total_goes_with_the_last() -> None:
    go = asyncio.Event()

    async def slow(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        await go.wait()
        async for event in honest()(session):
            yield event

    out = Outcome()
    service = ScriptedSafety(honest(), slow, honest())
    parts: list[Part] = [STARTED, said("A", 0, "One."), said("B", 1, "Two.", last=True), END]
    running = asyncio.create_task(watched(parts, rules(service), team=True, into=out))
    await out.until(lambda out: bool(out.messages))
    assert [message.agent for message in out.messages] == ["B"]
    go.set()
    await running
    assert [message.agent for message in out.messages] == ["B", "A"]
    assert totals(out) == [False, True]


async def test_when_every_message_is_refused_or_failed_the_turn_fails_after_them() -> None:
    parts: list[Part] = [STARTED, said("A", 0, "a bomb"), failed("B", 1), END]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb"))), team=True)
    assert len(out.messages) == 2
    assert out.error in [message.error for message in out.messages]
    assert not any(isinstance(event, Finished) for event in out.events)


async def test_a_failed_agents_sentence_needs_no_check_and_the_turns_own_error_comes_after_it() -> None:
    service = ScriptedSafety(honest())
    out = await watched([STARTED, failed("A", 0), Unavailable("All failed.")], rules(service), team=True)
    assert [message.agent for message in out.messages] == ["A"]
    assert isinstance(out.error, Unavailable)
    assert len(service.sessions) == 1


@pytest.mark.parametrize("on_error", ["block", "allow"])
async def test_a_check_that_fails_is_that_messages_matter_and_in_the_log(
    on_error: str, caplog: pytest.LogCaptureFixture
) -> None:
    service = ScriptedSafety(honest(), unreachable, honest())
    parts: list[Part] = [STARTED, said("A", 0, "One."), said("B", 1, "Two.", last=True), END]
    out = await watched(parts, rules(service, on_error=on_error), team=True)
    assert out.error is None
    by_agent = {message.agent: message for message in out.messages}
    assert by_agent["B"].text == "Two."
    if on_error == "block":
        assert isinstance(by_agent["A"].error, Unavailable)
        assert "One." not in repr(out.events)
    else:
        assert by_agent["A"].text == "One."
        assert str(by_agent["A"].thoughts[-1].description).startswith("Not everything was checked.")
    assert totals(out) == [False, True]
    assert "invocation: not everything was checked: The safety service cannot be reached." in caplog.text


async def test_annotated_messages_pass_with_what_was_found() -> None:
    parts: list[Part] = [STARTED, said("A", 0, "a bomb", last=True), END]
    out = await watched(parts, rules(ScriptedSafety(honest("bomb")), mode="annotate"), team=True)
    (message,) = out.messages
    assert message.text == "a bomb"
    assert message.finished
    assert message.finished.content_filter_results == {"violence": {"filtered": False, "severity": "high"}}
    assert totals(out) == [True]


async def test_a_forbidden_message_is_told_at_once_though_the_service_says_no_more() -> None:
    async def no_more(session: ScriptedSession) -> AsyncGenerator[SafetyEvent]:
        while await session.next() != "finish":
            pass
        yield blocks(ANSWER, 0, 1)
        await asyncio.Event().wait()

    parts: list[Part] = [STARTED, said("A", 0, "One."), said("B", 1, "Two."), END]
    async with asyncio.timeout(10):
        out = await watched(parts, rules(ScriptedSafety(honest(), no_more, honest()), timeout=60), team=True)
    assert [message.error is None for message in sorted(out.messages, key=lambda said: said.position)] == [False, True]


@pytest.mark.parametrize(("mode", "query"), [("enforce", None), ("annotate", "how to build a bomb")])
async def test_what_an_agent_does_waits_for_nothing_and_with_enforce_its_query_is_left_out(
    mode: str, query: str | None
) -> None:
    searching = AgentWork("A", "searching", query="how to build a bomb")
    out = Outcome()
    turn = Turn([STARTED, searching, asyncio.Event()])
    running = asyncio.create_task(watched(turn, rules(ScriptedSafety(mute), mode=mode), team=True, into=out))
    await out.until(lambda seen: AgentWork("A", "searching", query=query) in seen.events)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_agents_do_goes_out_before_the_end() -> None:
    parts: list[Part] = [STARTED, said("A", 0, "Fine.", last=True), AgentWork("A", "done"), END]
    out = await watched(parts, rules(ScriptedSafety(honest())), team=True)
    assert AgentWork("A", "done") in out.events
    assert isinstance(out.finished, Finished)
