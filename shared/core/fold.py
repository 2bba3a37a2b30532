"""The whole answer, folded from the events of a turn, so that both ways to answer always have the same content."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from copy import replace
from typing import assert_never

import msgspec

from shared import events
from shared.chat_types import ChatRequest, ToolCall
from shared.errors import ContentFiltered, InternalError, SwitchboardError


class Answer(msgspec.Struct, frozen=True):
    """The result of a successful turn."""

    text: str
    """The whole text."""
    data_points: tuple[events.DataPoint, ...]
    """The sources."""
    thoughts: tuple[events.Thought, ...]
    """All steps, in order."""
    completion: events.CompletionStarted
    """Metadata of the model's answer."""
    finished: events.Finished
    """Finish reason, tokens and follow-up questions."""
    messages: tuple[events.AgentMessage, ...] = ()
    """In a team's answer: the agents' messages, in order of their positions."""
    message: events.AgentMessage | None = None
    """In one agent's part of a team's answer: that agent's message."""
    images: tuple[events.SourceImage, ...] = ()
    """Images of the sources that the model was given."""
    reasoning: str = ""
    """Reasoning of the model before the answer."""
    calls: tuple[ToolCall, ...] = ()
    """Calls that the caller answers."""
    tool_calls: tuple[events.ToolEnded, ...] = ()
    """Calls of servers' tools that have ended, in order."""
    open_calls: tuple[events.OpenCall, ...] = ()
    """Calls that wait for a person's consent."""


async def each(turn: Iterable[events.ChatEvent]) -> AsyncGenerator[events.ChatEvent]:
    """Yield the events of a turn that has ended, as those of one that goes on come."""
    for event in turn:
        yield event


async def fold(turn: AsyncIterable[events.ChatEvent], *, filter_ends: bool = False) -> Answer:  # noqa: C901 (one case an event)
    """Collect the events of a turn.

    Args:
        turn: The events.
        filter_ends: Whether the answer ends where a filter stops its text; else that is an error.

    Raises:
        SwitchboardError: the turn failed; its text so far is dropped.
    """
    texts: list[str] = []
    reasoning: list[str] = []
    data_points: tuple[events.DataPoint, ...] = ()
    thoughts: tuple[events.Thought, ...] = ()
    images: tuple[events.SourceImage, ...] = ()
    messages: list[events.AgentMessage] = []
    calls: tuple[ToolCall, ...] = ()
    tool_calls: list[events.ToolEnded] = []
    open_calls: tuple[events.OpenCall, ...] = ()
    completion: events.CompletionStarted | None = None
    finished: events.Finished | None = None
    failure: SwitchboardError | None = None
    async for event in turn:
        match event:
            case events.Retrieved():
                data_points, thoughts, images = event.data_points, event.thoughts, event.images
            case events.TextDelta():
                texts.append(event.text)
            case events.ReasoningDelta():
                reasoning.append(event.text)
            case events.ToolsCalled():
                calls = event.calls
            case events.ToolEnded():
                tool_calls.append(event)
            case events.ConsentAsked():
                open_calls = event.calls
            case events.ToolStarted():
                pass  # `ToolEnded` has all of it
            case events.ThoughtsAdded():
                thoughts += event.thoughts
            case events.AgentMessage():
                messages.append(event)
            case events.CompletionStarted():
                completion = event
            case events.Finished():
                finished = event
            case events.FilterAnnotation():
                pass  # `Finished` carries the merged results of the whole answer
            case events.AgentWork():
                pass  # it is no part of the answer
            case events.Failed():
                failure = event.error
            case _:
                assert_never(event)
    if filter_ends and isinstance(failure, ContentFiltered) and (texts or messages):
        finished, failure = ended_by(failure), None
    if failure or not (completion and finished):
        raise failure or InternalError()
    said = _in_order(messages, finished.usage)
    return Answer(
        "".join(texts),
        data_points,
        thoughts,
        completion,
        finished,
        said,
        images=images,
        reasoning="".join(reasoning),
        calls=calls,
        tool_calls=tuple(tool_calls),
        open_calls=open_calls,
    )


def events_of(answer: Answer) -> Iterator[events.ChatEvent]:
    """Yield the events that a whole answer is folded from, for a protocol whose document is the end of its stream."""
    yield events.Retrieved(answer.data_points, answer.thoughts, images=answer.images)
    yield answer.completion
    if answer.reasoning:
        yield events.ReasoningDelta(answer.reasoning)
    yield from answer.tool_calls
    if answer.text:
        yield events.TextDelta(answer.text)
    yield from answer.messages
    if answer.calls:
        yield events.ToolsCalled(answer.calls)
    if answer.open_calls:
        yield events.ConsentAsked(answer.open_calls)
    yield answer.finished


def agent_answer(message: events.AgentMessage, turn: events.CompletionStarted) -> Answer:
    """Make an answer of one agent's message; if the agent failed, the finish reason is its error's code.

    Args:
        message: The message.
        turn: Metadata of the team's turn, used if the agent's model never started.
    """
    completion = message.completion or turn
    if turn.prompt_filter_results and not completion.prompt_filter_results:
        completion = replace(completion, prompt_filter_results=turn.prompt_filter_results)
    finished = message.finished or ended_by(message.error or InternalError())
    return Answer(message.text, message.data_points, message.thoughts, completion, finished, message=message)


def _in_order(messages: Iterable[events.AgentMessage], total: events.Usage | None) -> tuple[events.AgentMessage, ...]:
    """Sort the messages by position (they come in the order in which agents end); put the total on the last one."""
    ordered = [replace(message, total_usage=None) for message in sorted(messages, key=lambda one: one.position)]
    return (*ordered[:-1], *(replace(last, total_usage=total) for last in ordered[-1:]))


def ended_by(error: SwitchboardError) -> events.Finished:
    """Make the end of a text that an error ended: its code is the reason."""
    results = error.results if isinstance(error, ContentFiltered) else None
    return events.Finished(error.code, content_filter_results=results)


_PROGRAMS_LIMIT = 256
"""Tokens up to which a limit is a program's, which looks at the reason. Pages set more for people: Dify's node 512."""
_NOTICES = {
    "content_filter": "\n\n*(The content filter ended the answer here. Please rephrase the question.)*",
    "length": "\n\n*(The answer ends here: it reached the app's limit of length or time. Ask for the rest.)*",
}


def without_notice(text: str) -> str:
    """Leave out of an answer that a client sends back what the app has added to its end."""
    return text.removesuffix(_NOTICES["content_filter"]).removesuffix(_NOTICES["length"])


def notice_of(finished: events.Finished | None, request: ChatRequest | None = None) -> str:
    """Say in the text why an answer stops amid it, since few pages show that otherwise; empty: it does not stop.

    Who wants a short text, JSON or a title, or shows progress, as our own page does, looks at the reason.
    """
    reason = finished.reason if finished else ""
    if request and (request.form or request.is_task or request.overrides.show_progress):
        return ""
    is_short = request and 0 < (request.max_tokens or 0) <= _PROGRAMS_LIMIT
    return "" if is_short and reason == "length" else _NOTICES.get(reason, "")
