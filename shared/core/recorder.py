"""The recorder: writes a turn to the conversation that the request names, if the caller owns that conversation.

It writes the question and the whole answer, or the message of each agent of a team, when the turn has finished. It
writes nothing if the turn fails or the caller leaves, since the question will be asked again. An answer that ended
early is written with its finish reason, and the message of a failed agent with its error's code, so that clients can
tell that they are incomplete. If the store fails, the answer still goes out, with a thought that says so, and the fault
is logged.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace
from datetime import UTC, datetime
from operator import itemgetter
from uuid import NAMESPACE_OID, uuid4, uuid5

from shared.chat_types import ChatRequest, RequestContext, Role
from shared.errors import NotFound, SwitchboardError, log_fault
from shared.events import AgentMessage, ChatEvent, Finished, TextDelta, Thought, ThoughtsAdded
from shared.history import HistoryStore, StoredMessage, owner_of

_log = logging.getLogger("switchboard.history")

WRITE_TIMEOUT_SECONDS = 5.0
"""How long the end of an answer waits for the store."""
_FINISH_SECONDS = 0.5
"""Writing stops this long before the turn's deadline, so that the complete answer still goes out in time."""


def record(
    events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, history: HistoryStore
) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events as they come, and write the turn to the history before its `Finished`.

    Returns:
        The events, with a thought 'History' before `Finished` if the turn could not be written. Without a conversation
        in the request, the events themselves.
    """
    if request.chat.conversation_id is None:
        return events
    return _recording(request.chat.conversation_id, events, request, context, history)


async def _recording(
    conversation_id: str,
    events: AsyncGenerator[ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    history: HistoryStore,
) -> AsyncGenerator[ChatEvent]:
    question = StoredMessage(_message_id(context, "question"), Role.USER, request.question, _now())
    answer: list[str] = []
    agents: list[tuple[int, StoredMessage]] = []
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                answer.append(event.text)
            if isinstance(event, AgentMessage):
                agents.append((event.position, _of_agent(event, _message_id(context, str(event.position)))))
            if isinstance(event, Finished):
                said = [message for _, message in sorted(agents, key=itemgetter(0))]
                messages = (question, *(said or [_answered(str(uuid4()), "".join(answer), event.reason)]))
                if problem := await _recorded(history, context, conversation_id, messages):
                    yield ThoughtsAdded((Thought("History", problem, degraded="history"),))
            yield event


async def _recorded(
    history: HistoryStore, context: RequestContext, conversation_id: str, messages: tuple[StoredMessage, ...]
) -> str | None:
    """Write the messages; return a sentence for the user if that failed."""
    limit = asyncio.get_running_loop().time() + WRITE_TIMEOUT_SECONDS
    try:
        async with asyncio.timeout_at(min(limit, context.deadline - _FINISH_SECONDS)):
            await history.write(owner_of(context.caller), conversation_id, messages)
    except NotFound:
        return None  # deleted, or another owner's: the caller must not learn which
    except SwitchboardError as error:
        _log.warning("invocation %s: turn not recorded: %s", context.invocation_id, error.message)
        return f"This turn was not recorded. {error.message}"
    except TimeoutError:
        _log.warning("invocation %s: turn not recorded: the store took too long", context.invocation_id)
        return "This turn may not have been recorded: the chat history took too long."
    except Exception as error:  # noqa: BLE001 (a fault of the store must not stop a complete answer)
        log_fault(error, context.invocation_id)
        return "This turn was not recorded: the chat history failed on our side."
    return None


def _message_id(context: RequestContext, part: str) -> str:
    """Make the id of a message. In a batch it is the same in each run, so that a later run replaces the message."""
    return str(uuid5(NAMESPACE_OID, f"{context.batch_id}/{part}") if context.batch_id else uuid4())


def _answered(message_id: str, text: str, reason: str) -> StoredMessage:
    """Make the stored message of an answer, with the current time."""
    return StoredMessage(message_id, Role.ASSISTANT, text, _now(), finish_reason=None if reason == "stop" else reason)


def _of_agent(message: AgentMessage, message_id: str) -> StoredMessage:
    reason = message.error.code if message.error else message.finished.reason if message.finished else "stop"
    return replace(
        _answered(message_id, message.text, reason), agent_name=message.agent, agent_identifier=message.agent
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
