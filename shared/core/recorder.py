"""The recorder: keeps a turn in the conversation that its request names, if that is one of the caller's.

What is kept is the user's question and the whole answer, once the turn is over. A turn that fails, or that the caller
leaves, keeps nothing: the question will be asked again. An answer that the model ended early is kept with the reason,
so that nobody takes it for a whole one. A fault of the store fails no answer: it becomes a thought, and a log entry.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from uuid import uuid4

from shared.chat_types import ChatRequest, RequestContext, Role
from shared.core.running_turn import log_fault
from shared.errors import NotFound, SwitchboardError
from shared.events import ChatEvent, Finished, TextDelta, Thought, ThoughtsAdded
from shared.history import HistoryStore, StoredMessage, owner_of

logger = logging.getLogger("switchboard.history")

PATIENCE_SECONDS = 5.0
"""How long the end of an answer may wait for the store."""
_MARGIN_SECONDS = 0.5
"""The store is given up this long before the turn's deadline, so that the complete answer still goes out in time."""


async def record(
    events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, history: HistoryStore
) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events as they come, and record the turn before the last of them.

    Yields:
        The events; before `Finished` a thought 'History' if the turn could not be recorded.
    """
    asked = _now()
    answer: list[str] = []
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                answer.append(event.text)
            if isinstance(event, Finished) and request.conversation_id is not None:
                messages = _messages(request.question, asked, "".join(answer), event.reason)
                if problem := await _recorded(history, context, request.conversation_id, messages):
                    yield ThoughtsAdded((Thought("History", problem),))
            yield event


async def _recorded(
    history: HistoryStore, context: RequestContext, conversation_id: str, messages: tuple[StoredMessage, ...]
) -> str | None:
    """Write the messages; return what the user should know of it, if anything."""
    limit = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    try:
        async with asyncio.timeout_at(min(limit, context.deadline - _MARGIN_SECONDS)):
            await history.write(owner_of(context.caller), conversation_id, messages)
    except NotFound:
        return None  # another's, or nobody's: who asks does not learn which
    except SwitchboardError as error:
        logger.warning("invocation %s: turn not recorded: %s", context.invocation_id, error.message)
        return f"This turn was not recorded. {error.message}"
    except TimeoutError:
        logger.warning("invocation %s: turn not recorded: the store took too long", context.invocation_id)
        return "This turn may not have been recorded: the chat history took too long."
    except Exception as error:  # noqa: BLE001 (whatever is wrong with the store, the answer is complete and goes out)
        log_fault(error, context.invocation_id)
        return "This turn was not recorded: the chat history failed on our side."
    return None


def _messages(question: str, asked: str, answer: str, reason: str) -> tuple[StoredMessage, ...]:
    return (
        StoredMessage(str(uuid4()), Role.USER, question, asked),
        StoredMessage(str(uuid4()), Role.ASSISTANT, answer, _now(), finish_reason=None if reason == "stop" else reason),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
