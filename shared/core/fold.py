"""The whole answer, folded from the events of a turn: what is not streamed is never computed another way."""

from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import assert_never

from shared.errors import InternalError, SwitchboardError
from shared.events import ChatEvent, CompletionStarted, Failed, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn that is over and went well."""

    text: str
    """The whole text."""
    data_points: tuple[str, ...]
    """Each source as `sourcepage: text`."""
    thoughts: tuple[Thought, ...]
    """Every step, the late ones last."""
    completion: CompletionStarted
    """What the model's service said of it."""
    finished: Finished
    """How it ended."""


async def fold(events: AsyncIterable[ChatEvent]) -> Answer:
    """Collect the events of a turn.

    Raises:
        SwitchboardError: what the turn failed with; the text so far is not an answer and is dropped.
    """
    texts: list[str] = []
    data_points: tuple[str, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    completion: CompletionStarted | None = None
    finished: Finished | None = None
    failure: SwitchboardError | None = None
    async for event in events:
        match event:
            case Retrieved():
                data_points, thoughts = event.data_points, event.thoughts
            case TextDelta():
                texts.append(event.text)
            case ThoughtsAdded():
                thoughts += event.thoughts
            case CompletionStarted():
                completion = event
            case Finished():
                finished = event
            case Failed():
                failure = event.error
            case _:
                assert_never(event)
    if failure:
        raise failure
    if not (completion and finished):
        raise InternalError
    return Answer("".join(texts), data_points, thoughts, completion, finished)
