"""From what a model says to the events of an answer: what single chat and an agent that answers it share."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from typing import assert_never

from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_types import Json, ToolCall
from shared.core.citations import unverified_citations
from shared.core.followups import FollowupParser
from shared.errors import Unavailable
from shared.events import (
    ChatEvent,
    CompletionStarted,
    FilterAnnotation,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    Usage,
)


async def answered(
    said: AsyncGenerator[ModelEvent | Retrieved],
    *,
    want_followups: bool,
    known: Callable[[], Collection[str]],
    spent: Usage | None = None,
) -> AsyncGenerator[ChatEvent]:
    """Make the answer's events of what a model says.

    Args:
        said: One answer; `Retrieved` passes as it is.
        want_followups: Whether the model was asked for follow-up questions, which leave the text.
        known: What may be cited, asked for when the text is whole.
        spent: What the question cost before.

    Raises:
        Unavailable: the answer breaks off.
    """
    parser = FollowupParser() if want_followups else None
    answer: list[str] = []
    finished: ModelFinished | None = None
    async with aclosing(said):
        async for event in said:
            match event:
                case ModelText():
                    if text := parser.feed(event.text) if parser else event.text:
                        answer.append(text)
                        yield TextDelta(text)
                case CompletionStarted() | FilterAnnotation() | Retrieved():
                    yield event
                case ModelFinished():
                    finished = event
                case ToolCall():
                    pass  # none was offered, so there is nothing to call
                case _:
                    assert_never(event)
    if parser and (rest := parser.flush()):
        answer.append(rest)
        yield TextDelta(rest)
    if thought := unverified("".join(answer), known()):
        yield ThoughtsAdded((thought,))
    if finished is None:
        raise Unavailable("The model's service cut its answer off. Try again.")
    yield Finished(
        reason=final_reason(finished),
        usage=Usage.total(spent, finished.usage),
        content_filter_results=finished.content_filter_results,
        followup_questions=tuple(parser.questions) if parser else None,
    )


def unverified(text: str, known: Collection[str]) -> Thought | None:
    """The thought that names what a text cites and nobody found, if there is any."""
    names = unverified_citations(text, known)
    return Thought("Unverified citations", list[Json](names)) if names else None


def final_reason(finished: ModelFinished) -> str:
    """Why an answer ended: one that ends in calls has nothing left to call."""
    return "stop" if finished.reason == "tool_calls" else finished.reason
