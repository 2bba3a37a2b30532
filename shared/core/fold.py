"""The whole answer, folded from the events of a turn: what is not streamed is never computed another way."""

from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from shared.errors import ContentFiltered, InternalError, SwitchboardError
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    DataPoint,
    Failed,
    FilterAnnotation,
    Finished,
    Retrieved,
    SourceImage,
    TextDelta,
    Thought,
    ThoughtsAdded,
    Usage,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn that is over and went well."""

    text: str
    """The whole text."""
    data_points: tuple[DataPoint, ...]
    """The sources."""
    thoughts: tuple[Thought, ...]
    """Every step, the late ones last."""
    completion: CompletionStarted
    """What the model's service said of it."""
    finished: Finished
    """How it ended."""
    messages: tuple[AgentMessage, ...] = ()
    """On a team's answer: what each agent said, in their order."""
    message: AgentMessage | None = None
    """On one agent's part of a team's answer: the message that it is of."""
    images: tuple[SourceImage, ...] = ()
    """What the model was shown of the sources."""


async def fold(events: AsyncIterable[ChatEvent]) -> Answer:  # noqa: C901 (one case an event)
    """Collect the events of a turn.

    Raises:
        SwitchboardError: what the turn failed with; the text so far is not an answer and is dropped.
    """
    texts: list[str] = []
    data_points: tuple[DataPoint, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    images: tuple[SourceImage, ...] = ()
    messages: list[AgentMessage] = []
    completion: CompletionStarted | None = None
    finished: Finished | None = None
    failure: SwitchboardError | None = None
    async for event in events:
        match event:
            case Retrieved():
                data_points, thoughts, images = event.data_points, event.thoughts, event.images
            case TextDelta():
                texts.append(event.text)
            case ThoughtsAdded():
                thoughts += event.thoughts
            case AgentMessage():
                messages.append(event)
            case CompletionStarted():
                completion = event
            case Finished():
                finished = event
            case FilterAnnotation():
                pass  # the end of the answer has what was found in all of it
            case Failed():
                failure = event.error
            case _:
                assert_never(event)
    if failure or not (completion and finished):
        raise failure or InternalError()
    said = _in_order(messages, finished.usage)
    return Answer("".join(texts), data_points, thoughts, completion, finished, said, images=images)


def agent_answer(message: AgentMessage, turn: CompletionStarted) -> Answer:
    """What one agent said, as an answer of its own; one that failed has its error's code as the reason of its end.

    Args:
        message: What it said, or why it could not.
        turn: What is known of the team's whole turn: it stands in for a model that never began.
    """
    completion = message.completion or turn
    if turn.prompt_filter_results and not completion.prompt_filter_results:
        completion = replace(completion, prompt_filter_results=turn.prompt_filter_results)
    finished = message.finished or _end(message.error or InternalError())
    return Answer(message.text, message.data_points, message.thoughts, completion, finished, message=message)


def _in_order(messages: Iterable[AgentMessage], total: Usage | None) -> tuple[AgentMessage, ...]:
    """The messages by their positions, the total on the last one: who was done last may stand anywhere."""
    ordered = [replace(message, total_usage=None) for message in sorted(messages, key=lambda one: one.position)]
    return (*ordered[:-1], *(replace(last, total_usage=total) for last in ordered[-1:]))


def _end(error: SwitchboardError) -> Finished:
    results = error.results if isinstance(error, ContentFiltered) else None
    return Finished(error.code, content_filter_results=results)
