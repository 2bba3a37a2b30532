"""Keeps a chat alive after a refused question, which many clients send again with each further one.

An earlier question that has no answer, and for which the turn is refused, is left out, and the turn begins again. So
are messages that clients made of our error messages, and empty ones: they are no part of the conversation.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from copy import replace
from itertools import pairwise

from shared.chat_types import ChatRequest, Message, Role
from shared.core.running_turn import is_first_words
from shared.errors import ContentFiltered, is_error_text
from shared.events import AgentWork, ChatEvent, Finished, Thought, ThoughtsAdded

_MAY_BE_EARLIER = (
    "The content filter of the model's service refused this. Please rephrase it; if that does not help, an earlier "
    "message may be the reason: start a new chat."
)

type Begin = Callable[[ChatRequest], AsyncGenerator[ChatEvent]]
"""Begins a turn for a request."""


def without_errors(request: ChatRequest) -> ChatRequest:
    """Leave out the assistant and system messages that hold one of our error messages, or nothing.

    ChatUI shows an error as a `system` message, others as the assistant's, and both send it back with the chat; Agent
    Framework's client of AG-UI sends an empty message of the assistant.
    """
    kept = tuple(message for message in request.messages if not _is_error(message))
    return request if len(kept) == len(request.messages) else replace(request, messages=kept)


def begin_without_refused(begin: Begin, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
    """Begin a turn, and begin it again without the earlier questions that are refused and have no answer."""
    if request.single_turn or len(request.messages) < 2:
        return begin(request)
    if unanswered := _unanswered(request.messages):
        return _without_refused(begin, request, unanswered)
    return _naming_earlier(begin, request)


async def _naming_earlier(begin: Begin, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
    """Begin a turn; if the model's service refuses the prompt, say that an earlier message may be the reason.

    It does not say which message it refuses.
    """
    has_begun = False
    async with aclosing(begin(request)) as events:
        try:
            async for event in events:
                has_begun = has_begun or is_first_words(event)
                yield event
        except ContentFiltered as error:
            if has_begun or error.earlier is not None or len(request.messages) < 2:
                raise
            raise ContentFiltered(_MAY_BE_EARLIER, results=error.results) from error


async def _without_refused(begin: Begin, request: ChatRequest, unanswered: frozenset[int]) -> AsyncGenerator[ChatEvent]:
    left_out = frozenset[int]()
    while True:
        kept = [place for place in range(len(request.messages)) if place not in left_out]
        asked = replace(request, messages=tuple(request.messages[place] for place in kept))
        has_begun = False
        try:
            async with aclosing(_from_first_words(_naming_earlier(begin, asked))) as events:
                async for event in events:
                    has_begun = has_begun or not isinstance(event, AgentWork)
                    if left_out and isinstance(event, Finished):
                        yield ThoughtsAdded((_thought(len(left_out)),))
                    yield event
        except ContentFiltered as error:
            refused = _refused(error, kept, left_out, unanswered)
            if has_begun or not refused:
                raise
            left_out |= refused
        else:
            return


async def _from_first_words(events: AsyncGenerator[ChatEvent]) -> AsyncGenerator[ChatEvent]:
    """Hold a turn's events back until its first words: before them it may be refused, and begin again."""
    held: list[ChatEvent] = []
    has_begun = False
    async with aclosing(events):
        async for event in events:
            if isinstance(event, AgentWork):
                yield event  # it is only useful at once
                continue
            held.append(event)
            has_begun = has_begun or is_first_words(event) or isinstance(event, Finished)
            if has_begun:
                for one in held:
                    yield one
                held.clear()


def _refused(
    error: ContentFiltered, kept: Sequence[int], left_out: frozenset[int], unanswered: frozenset[int]
) -> frozenset[int]:
    """Choose the messages to leave out next; empty if that does not help.

    The second time all questions without an answer are left out, so that no turn begins more than three times.
    """
    rest = unanswered - left_out
    if error.earlier is None:  # the model's service does not say which message it refuses
        return rest
    refused = frozenset(kept[place] for place in error.earlier)
    if not refused <= unanswered:
        return frozenset()
    return rest if left_out and refused else refused


def _unanswered(messages: Sequence[Message]) -> frozenset[int]:
    """Return the places of the user's messages that another message of the user follows."""
    return frozenset(
        place
        for place, (one, following) in enumerate(pairwise(messages))
        if one.role is Role.USER and following.role is Role.USER
    )


def _is_error(message: Message) -> bool:
    if message.role not in (Role.ASSISTANT, Role.SYSTEM) or message.tool_calls:
        return False
    return not message.content.strip() or is_error_text(message.content)


def _thought(count: int) -> Thought:
    return Thought("Left out", "The model was not given earlier questions that were refused.", {"messages": count})
