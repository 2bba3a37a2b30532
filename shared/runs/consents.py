"""Lets people decide about the calls that runs wait for, in a chat or by a route, and lets the runs go on."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Protocol

from shared.audit import Audit
from shared.chat_types import ChatRequest, Decision, Message, Role
from shared.errors import InternalError, NotFound
from shared.events import ChatEvent, CompletionStarted, ConsentAsked, Finished, Retrieved
from shared.runs import ObjectStore, approvals, claim, journal, records, write_once
from shared.tools.calls import KeptCall, no_such_approval
from shared.wire.consent import title_of

_MOST_LOOKED_AT = 5
"""How many of the newest runs of a chat a new message may withdraw."""
_MOST_CODES = 20
"""The same of the codes in its messages."""
_CODE = re.compile(r"\b(?:approve|decline) ([A-Z0-9]{4})\b")
"""A code in a question for consent, as front ends without buttons show it."""


class _StartAgain(Protocol):
    async def __call__(self, run_id: str, *, here: bool) -> object: ...


class Consents:
    """The decisions about calls.

    Args:
        store: Keeps the runs and their calls.
        start: Lets a run go on that nobody runs, in this process or elsewhere.
        stop: Stops a run of an owner.
        audit: Records who decides; None: nobody does.
    """

    def __init__(
        self, store: ObjectStore, start: _StartAgain, stop: Callable[[str, str], Awaitable[None]], audit: Audit | None
    ) -> None:
        self._audit = audit
        self.store = store
        self._start = start
        self._stop = stop

    async def decide(self, decision: Decision, decider: approvals.Decider, *, here: bool) -> approvals.Approval | None:
        """Decide about a call; its run goes on if all its calls are decided.

        Args:
            decision: The decision.
            decider: Who decides.
            here: Whether the run goes on in this process at once, or where the engine decides.

        Returns:
            The approval; None: the decision is a phrase with a code that names no call.

        Raises:
            NotFound, Decided: as `record_decision` raises them.
        """
        approval_id = decision.approval_id or await approvals.with_code(self.store, decider.owner, decision.code)
        if approval_id is None:
            return None
        if self._audit:
            await self._audit.write("decided", decider.name, approval=approval_id, approved=decision.approved)
        approval = await approvals.record_decision(self.store, approval_id, decision, decider)
        await self.go_on(approval.run_id, here=here)
        return approval

    async def shown_after(self, run_id: str) -> tuple[tuple[ChatEvent, ...], int | None]:
        """Return what a chat is shown after a decision in it, before the events of the run that are new.

        Returns:
            The events, and the number of the run's first new event; None: the run still waits, and there are none.

        Raises:
            NotFound: the run has been deleted.
        """
        state = await claim.read_state(self.store, run_id)
        if state is None:
            raise no_such_approval()
        known = await journal.read_piece(self.store, run_id, state.journal, 0) or []
        newest = [[event for event in known if isinstance(event, kind)][-1:] for kind in (Retrieved, CompletionStarted)]
        begin = (*newest[0], *newest[1])
        if not state.waits:
            return begin, len(known)
        opened = tuple(call.opened for call in (await approvals.waiting_calls(self.store, run_id)).values())
        return (*begin, ConsentAsked(opened), Finished("consent")), None

    async def go_on(self, run_id: str, *, here: bool) -> None:
        """Let a run go on that waits, if all its calls are decided or out of time."""
        before = await claim.read_state(self.store, run_id)
        if before and before.waits:
            after = await approvals.free_if_decided(self.store, run_id)
            if after and not (after.waits or after.deleted):
                await self._start(run_id, here=here)

    async def withdraw(self, owner: str, request: ChatRequest) -> list[str]:
        """Stop what waits in the chat of a request without a decision; return the titles of the calls left undone."""
        waiting = list[str]()
        if chat := chat_before(request):
            names = sorted([name async for name in self.store.names(chat_name(owner, chat))], reverse=True)
            newest = [name.rpartition("-")[2] for name in names[:_MOST_LOOKED_AT]]
            waiting = [run_id for run_id in newest if await self._waits(run_id)]
            if not request.chat.name:
                waiting = [*await self._named(waiting, request)]
        codes = sorted({code for message in request.messages[:-1] for code in _CODE.findall(message.content)})
        for code in codes[-_MOST_CODES:]:  # a client may have cut off how the conversation began
            approval_id = await approvals.with_code(self.store, records.digest(owner), code)
            run_id = approval_id and await approvals.run_of(self.store, approval_id)
            if run_id and run_id not in waiting and await self._waits(run_id):
                waiting.append(run_id)
        undone = list[str]()
        for run_id in waiting:
            with suppress(NotFound):
                calls = await self._calls(run_id)
                await self._stop(run_id, owner)
                undone += (title_of(call.opened) for call in calls.values())
        return undone

    async def _waits(self, run_id: str) -> bool:
        state = await claim.read_state(self.store, run_id)
        return bool(state and state.waits and not (state.stopped or state.deleted))

    async def _calls(self, run_id: str) -> Mapping[str, KeptCall]:
        """Return the calls that a run waits for; none if they cannot be read: the chat goes on all the same."""
        with suppress(InternalError):
            return await approvals.waiting_calls(self.store, run_id)
        return {}

    async def _named(self, waiting: Sequence[str], request: ChatRequest) -> Sequence[str]:
        """Return those of several runs of equal conversations that the request's conversation has asked about.

        Two chats may have begun with the same words. The code in the question for consent tells them apart; where a
        front end shows none, a single run is taken for the chat's own.
        """
        codes = {code for message in _since_question(request) for code in _CODE.findall(message.content)}
        if not codes:
            return waiting if len(waiting) == 1 else ()
        calls = {run_id: await self._calls(run_id) for run_id in waiting}
        return [run_id for run_id, of in calls.items() if codes & {call.code for call in of.values()}]


async def enter_chats(
    store: ObjectStore, run_id: str, owner: str, asked: ChatRequest, shown: Iterable[ChatEvent]
) -> None:
    """Enter a run that waits under each name that its chat may have in the next message.

    Semantic Kernel calls a chat by the id of its first answer, which is in what was `shown`.
    """
    names = {event.id for event in shown if isinstance(event, CompletionStarted)}
    if asked.chat.name:  # else it is entered under what was said since it began
        names |= {asked.chat.name, _conversation(asked.messages)}
    for name in sorted(names - {""}):
        await write_once(store, f"{chat_name(owner, name)}{asked.created:012x}-{run_id}")


def chat_name(owner: str, chat: str) -> str:
    """Return where the runs of a chat are entered, in the order of their beginning."""
    return f"chats/{records.digest(owner, chat)}/"


def chat_of(request: ChatRequest) -> str:
    """Return the id of a request's chat: the client's, or else a hash of the whole conversation up to its question."""
    return request.chat.name or _conversation(request.messages)


def chat_before(request: ChatRequest) -> str | None:
    """Return the id that the chat of a request had at the question before; None: this is its first question."""
    before = request.messages[: len(request.messages) - 1 - len(_since_question(request))]
    return request.chat.name or (_conversation(before) if before else None)


def _since_question(request: ChatRequest) -> Sequence[Message]:
    """Return the messages between a request's question and the one before."""
    return [*takewhile(lambda message: message.role is not Role.USER, reversed(request.messages[:-1]))][::-1]


def _conversation(messages: Sequence[Message]) -> str:
    """Hash what was said. Front ends change their system prompts, such as by the time of day."""
    said = (f"{one.role}: {one.content.strip()}" for one in messages if one.role in (Role.USER, Role.ASSISTANT))
    return records.digest("conversation", *said)
