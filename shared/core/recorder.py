"""The recorder: keeps a turn in the conversation that its request names, if that is one of the caller's.

What is kept is the user's question and the whole answer, or what each agent of a team said, once the turn is over. A
turn that fails, or that the caller leaves, keeps nothing: the question will be asked again. An answer that the model
ended early is kept with the reason, and so is the message of an agent that failed, with its error's code: nobody shall
take it for a whole one. A fault of the store fails no answer: it becomes a thought, and a log entry.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from uuid import uuid4

from shared.chat_types import ChatRequest, RequestContext, Role
from shared.errors import NotFound, SwitchboardError, log_fault
from shared.events import AgentMessage, ChatEvent, Finished, TextDelta, Thought, ThoughtsAdded
from shared.history import HistoryStore, StoredMessage, owner_of

_log = logging.getLogger("switchboard.history")

PATIENCE_SECONDS = 5.0
"""How long the end of an answer may wait for the store."""
_MARGIN_SECONDS = 0.5
"""The store is given up this long before the turn's deadline, so that the complete answer still goes out in time."""


def record(
    events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, history: HistoryStore
) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events as they come, and record the turn before the last of them.

    Returns:
        The events; before `Finished` a thought 'History' if the turn could not be recorded. A turn of no conversation
        is not recorded: its events are those that were given.
    """
    if request.conversation_id is None:
        return events
    return _recording(request.conversation_id, events, request, context, history)


async def _recording(
    conversation_id: str,
    events: AsyncGenerator[ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    history: HistoryStore,
) -> AsyncGenerator[ChatEvent]:
    question = StoredMessage(str(uuid4()), Role.USER, request.question, _now())
    answer: list[str] = []
    agents: list[tuple[int, StoredMessage]] = []
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                answer.append(event.text)
            if isinstance(event, AgentMessage):
                agents.append((event.position, _of_agent(event)))
            if isinstance(event, Finished):
                said = [message for _, message in sorted(agents, key=itemgetter(0))]
                messages = (question, *(said or [_answered("".join(answer), event.reason)]))
                if problem := await _recorded(history, context, conversation_id, messages):
                    yield ThoughtsAdded((Thought("History", problem, degraded="history"),))
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
        _log.warning("invocation %s: turn not recorded: %s", context.invocation_id, error.message)
        return f"This turn was not recorded. {error.message}"
    except TimeoutError:
        _log.warning("invocation %s: turn not recorded: the store took too long", context.invocation_id)
        return "This turn may not have been recorded: the chat history took too long."
    except Exception as error:  # noqa: BLE001 (whatever is wrong with the store, the answer is complete and goes out)
        log_fault(error, context.invocation_id)
        return "This turn was not recorded: the chat history failed on our side."
    return None


def _answered(text: str, reason: str) -> StoredMessage:
    """What was answered, now."""
    return StoredMessage(str(uuid4()), Role.ASSISTANT, text, _now(), finish_reason=None if reason == "stop" else reason)


def _of_agent(message: AgentMessage) -> StoredMessage:
    reason = message.error.code if message.error else message.finished.reason if message.finished else "stop"
    return replace(_answered(message.text, reason), agent_name=message.agent, agent_identifier=message.agent)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
