"""The recorder: writes a turn to the conversation that the request names, if the caller owns that conversation.

It writes the question before the turn begins, what has been shown of the answer every few seconds, as if it had been
stopped, and the whole answer, or the message of each agent of a team, when the turn has finished. So a process that is
killed leaves what it has shown. Of an answer that breaks off it writes what the caller has been shown, and where
nothing was shown, what went wrong. A question that is refused is taken back. An answer that ended early is written with
its finish reason, and a failure with its error's code, so that clients can tell that they are incomplete.

Of a turn that waits for a person it writes the question and what was said so far, and all of it again when it has gone
on. Calls of the caller's tools are written with the answer, and their results, in place of the question, by the turn
that goes on with them. A question that is asked again (*Regenerate*) takes, with its new answer, the place of the old
one and of what came after it. If the store fails, the answer still goes out, with a thought that says so, and the fault
is logged.

Where chats are kept, a complete answer also leaves a record by which it can be judged (`kept_answer`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from copy import replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from operator import itemgetter
from uuid import NAMESPACE_OID, uuid4, uuid5

import msgspec

from shared.chat_types import ChatRequest, Message, RequestContext, Role, ToolCall
from shared.core.recorded_chat import QUESTION_SECONDS, RecordedChat, time_limit
from shared.core.running_turn import STOPPED
from shared.errors import ContentFiltered, InternalError, SwitchboardError, TooSlow, error_text, log_fault
from shared.events import (
    AgentMessage,
    ChatEvent,
    DataPoint,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    ToolsCalled,
)
from shared.history import HistoryStore, StoredMessage, owner_of
from shared.runtime.background import in_background
from shared.verdicts import KeptAnswer, VerdictStore, kept_answer

_log = logging.getLogger("switchboard.history")

_LONGEST_ID = 200
"""Characters of a call's id that are kept; services make shorter ones."""


def record(
    events: AsyncGenerator[ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    history: HistoryStore,
    verdicts: VerdictStore | None = None,
) -> AsyncGenerator[ChatEvent]:
    """Pass on a turn's events as they come; write the question before the first, and the turn before its `Finished`.

    It goes to the history if the request names a conversation, and so that the answer can be judged, to `verdicts`,
    unless it is a task of the front end or the caller wants nothing kept.

    Returns:
        The events, with a thought 'History' before `Finished` if the turn could not be written to the history. If
        nothing is to be written, the events themselves.
    """
    if request.is_task or not request.may_be_kept:
        verdicts = None
    if request.chat.conversation_id is None and verdicts is None:
        return events
    return _recording(events, request, context, history, verdicts)


async def _recording(
    events: AsyncGenerator[ChatEvent],
    request: ChatRequest,
    context: RequestContext,
    history: HistoryStore,
    verdicts: VerdictStore | None,
) -> AsyncGenerator[ChatEvent]:
    turn = _TurnMessages(request, context)
    name = request.chat.conversation_id
    is_new = request.chat.regenerates is False or bool(request.steps) or request.single_turn
    replaced = None if is_new else partial(_replaced, request)
    chat = RecordedChat(history, context, name, turn.asked, turn.shown, replaced) if name else None
    try:
        async with aclosing(events):
            if chat:
                await chat.begin(keeps_up=request.stream and not context.run_id)
            async for event in events:
                turn.take(event)
                if isinstance(event, Finished):
                    turn.is_recorded = True
                    if chat and (problem := await chat.end(turn.messages(event.reason))):
                        yield ThoughtsAdded((Thought("History", problem, degraded="history"),))
                    if verdicts and event.reason != "consent":  # else the answer comes when the turn has gone on
                        await _kept(verdicts, context, turn.answer())
                yield event
    except BaseException as end:
        if chat and not turn.is_recorded and (messages := turn.broken_off(end)) is not None:
            writing = in_background(chat.end(messages, in_time=False))
            if isinstance(end, Exception):  # a caller is still there; a refused question is gone once they know of it
                await asyncio.wait({writing}, timeout=QUESTION_SECONDS)
        raise
    finally:
        if chat:
            chat.keep_up_no_more()


class _TurnMessages:
    """Collects the messages of a turn from its events."""

    def __init__(self, request: ChatRequest, context: RequestContext) -> None:
        self._request = request
        self._context = context
        self.asked = _asked(request, context)
        """The stored messages of what it answers."""
        self._answer_id = message_id(context, "answer")
        self._calls: tuple[ToolCall, ...] = ()
        self._texts: list[str] = []
        self._sources: tuple[DataPoint, ...] = ()
        self._agents: list[tuple[int, StoredMessage]] = []
        self.is_recorded = False
        """Whether it has been written, or is being written, to its end."""

    def take(self, event: ChatEvent) -> None:
        """Take an event."""
        if isinstance(event, TextDelta):
            self._texts.append(event.text)
        if isinstance(event, Retrieved):
            self._sources = event.data_points
        if isinstance(event, ToolsCalled):
            self._calls = event.calls
        if isinstance(event, AgentMessage):
            message = _of_agent(event, message_id(self._context, str(event.position)))
            self._agents.append((event.position, replace(message, answers=_last_id(self.asked))))
            self._sources += event.data_points

    def messages(self, reason: str) -> tuple[StoredMessage, ...]:
        """Return the question and the answer, which ended for a reason."""
        said = [message for _, message in sorted(self._agents, key=itemgetter(0))]
        if reason == "consent" and not (said or self._texts):
            return self.asked  # the answer comes when the turn has gone on
        return *self.asked, *(said or [self._answer("".join(self._texts), reason)])

    def shown(self) -> tuple[StoredMessage, ...]:
        """Return the messages of a turn that goes on. Agents whose turn comes before theirs are waited for."""
        said = sorted(self._agents, key=itemgetter(0))
        if said or not (self._texts or self._calls):
            return *self.asked, *(message for place, (position, message) in enumerate(said) if position == place)
        return self.messages(STOPPED)

    def answer(self) -> KeptAnswer:
        """Return what is kept of the complete answer so that it can be judged."""
        said = [message.content for _, message in sorted(self._agents, key=itemgetter(0))]
        return kept_answer(self._request, "\n\n".join(said or ["".join(self._texts)]), self._sources)

    def broken_off(self, end: BaseException) -> tuple[StoredMessage, ...] | None:
        """Return the messages of a turn that an exception has ended; None if it goes on as a run elsewhere."""
        shown = self._agents or self._texts or self._calls if self._request.stream or self._context.run_id else []
        if isinstance(end, asyncio.CancelledError | GeneratorExit):
            is_late = asyncio.get_running_loop().time() >= self._context.deadline
            if self._context.run_id and not is_late and STOPPED not in end.args:
                return None
            reason, wrong = (TooSlow.code if is_late else STOPPED), None
        else:
            error = end if isinstance(end, SwitchboardError) else InternalError()
            reason, wrong = error.code, error_text(error, self._context.invocation_id)
        if shown:
            return self.messages(reason)
        if isinstance(end, ContentFiltered):
            return ()  # what was refused is kept nowhere
        # A client may ask again by itself: the same question, failed again, is in the chat once.
        asked = tuple(
            replace(one, id=self._failed_id("question")) if one.role is Role.USER else one for one in self.asked
        )
        if not wrong:
            return asked
        return *asked, replace(_answered(self._failed_id("answer"), wrong, reason), answers=_last_id(asked))

    def _failed_id(self, part: str) -> str:
        return str(uuid5(NAMESPACE_OID, f"{self._request.chat.conversation_id}/{part}/{self._request.question}"))

    def _answer(self, text: str, reason: str) -> StoredMessage:
        answer = replace(_answered(self._answer_id, text, reason), answers=_last_id(self.asked))
        return replace(answer, tool_call=_tool_call(self._calls)) if self._calls else answer


def _replaced(request: ChatRequest, kept: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    """Return the messages of a chat from the question on, if it is asked again; nothing if it is a new one.

    It is asked again if the chat's questions are those that were sent: between a new one and the same one before it,
    the answer is sent too, and so that one as well. Where the client says that it asks again, that may be an earlier
    question, or it may send a part of the chat only.
    """
    said = [message.content for message in request.messages if message.role is Role.USER]
    places = [place for place, one in enumerate(kept) if one.role is Role.USER]
    asked = [kept[place].content for place in places]
    is_told = request.chat.regenerates
    if asked == said or (is_told and asked[-1:] == said[-1:]):
        return kept[places[-1] :]
    return kept[places[len(said) - 1] :] if is_told and asked[: len(said)] == said else ()


async def _kept(verdicts: VerdictStore, context: RequestContext, answer: KeptAnswer) -> None:
    """Keep an answer so that it can be judged. A failure is logged: the answer itself is complete."""
    try:
        async with asyncio.timeout_at(time_limit(context)):
            await verdicts.add(owner_of(context.caller), answer)
    except SwitchboardError as error:
        _log.warning("invocation %s: answer not kept for a verdict: %s", context.invocation_id, error.message)
    except TimeoutError:
        _log.warning("invocation %s: answer not kept for a verdict: the store took too long", context.invocation_id)
    except Exception as error:  # noqa: BLE001 (a fault of the store must not stop a complete answer)
        log_fault(error, context.invocation_id)


def message_id(context: RequestContext, part: str) -> str:
    """Make the id of a message. In a run it is the same each time it begins, so that a later one replaces it."""
    return str(uuid5(NAMESPACE_OID, f"{context.run_id}/{part}") if context.run_id else uuid4())


def _asked(request: ChatRequest, context: RequestContext) -> tuple[StoredMessage, ...]:
    """Make the stored messages of what a turn answers: the question, or the newest results of the caller's tools."""
    if not request.steps:
        return (StoredMessage(message_id(context, "question"), Role.USER, request.question, _now()),)
    newest = takewhile(lambda message: message.role is Role.TOOL, reversed(request.steps))
    return tuple(
        StoredMessage(
            _result_id(request, one),
            Role.TOOL,
            one.content,
            _now(),
            tool_call_id=(one.tool_call_id or "")[:_LONGEST_ID],
        )
        for one in reversed([*newest])
    )


def _result_id(request: ChatRequest, result: Message) -> str:
    """Make the id of a result, the same each time that it is sent: one that comes again replaces the earlier one."""
    return str(uuid5(NAMESPACE_OID, f"{request.chat.conversation_id}/result/{result.tool_call_id}"))


def _tool_call(calls: Iterable[ToolCall]) -> msgspec.Raw:
    """Make the stored calls of an answer, in the shape of OpenAI's messages."""
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return msgspec.Raw(msgspec.json.encode(made))


def _last_id(messages: tuple[StoredMessage, ...]) -> str | None:
    return messages[-1].id if messages else None


def _answered(message_id: str, text: str, reason: str) -> StoredMessage:
    """Make the stored message of an answer, with the current time."""
    early = None if reason in ("stop", "tool_calls") else reason
    return StoredMessage(message_id, Role.ASSISTANT, text, _now(), finish_reason=early)


def _of_agent(message: AgentMessage, message_id: str) -> StoredMessage:
    reason = message.error.code if message.error else message.finished.reason if message.finished else "stop"
    return replace(
        _answered(message_id, message.text, reason), agent_name=message.agent, agent_identifier=message.agent
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
