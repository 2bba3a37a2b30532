"""Lets people decide about the calls that runs wait for, in a chat or by a route, and lets the runs go on."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from shared.chat_types import Decision
from shared.errors import NotFound
from shared.events import ChatEvent, CompletionStarted, ConsentAsked, Finished, Retrieved
from shared.runs import ObjectStore, records
from shared.runs.approvals import Approval, Decider, decide, go_on, waiting_calls, with_code
from shared.runs.claim import read_state
from shared.runs.journal import read_piece

_MOST_LOOKED_AT = 5
"""Newest runs of a chat that a new message may leave waiting."""


class _StartAgain(Protocol):
    async def __call__(self, run_id: str, *, here: bool) -> None: ...


class _Stop(Protocol):
    async def __call__(self, run_id: str, owner: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What follows a decision, for the chat in which it was made."""

    run_id: str
    """The run that goes on, or waits for more decisions."""
    begin: tuple[ChatEvent, ...]
    """Events that come first: they are all if the run still waits."""
    number: int | None
    """Number of the run's first event that comes then; None: it still waits."""


class Consents:
    """The decisions about calls.

    Args:
        store: Keeps the runs and their calls.
        start: Lets a run go on that nobody runs, in this process or elsewhere.
        stop: Stops a run of an owner.
    """

    def __init__(self, store: ObjectStore, start: _StartAgain, stop: _Stop) -> None:
        self.store = store
        self._start = start
        self._stop = stop

    async def decide(self, approval_id: str, decision: Decision, decider: Decider) -> Approval:
        """Decide about a call; its run goes on where the engine decides, if all its calls are decided.

        Raises:
            NotFound, Decided: as `approvals.decide` raises them.
        """
        approval = await decide(self.store, approval_id, decision, decider)
        await self.go_on(approval.run_id, here=False)
        return approval

    async def decide_in_chat(self, decisions: Sequence[Decision], owner: str) -> Outcome | None:
        """Decide about calls of an owner's turn, which then goes on here.

        Returns:
            What follows; None: the decisions are a phrase with a code that names no call.

        Raises:
            NotFound, Decided: as `approvals.decide` raises them.
        """
        decider, approval = Decider(records.digest(owner), owner), None
        for decision in decisions:
            approval_id = decision.approval_id
            if not approval_id and (found := await with_code(self.store, decider.owner, decision.code)):
                approval_id = found
            if approval_id:
                approval = await decide(self.store, approval_id, decision, decider)
        if approval is None:
            return None
        run_id = approval.run_id
        await self.go_on(run_id, here=True)
        state = await read_state(self.store, run_id)
        if state is None:
            raise NotFound("There is no such approval, or it is not yours to see.")
        known = await read_piece(self.store, run_id, state.journal, 0) or []
        begin = [
            event
            for kind in (Retrieved, CompletionStarted)
            for event in [event for event in known if isinstance(event, kind)][-1:]
        ]
        if not state.waits:
            return Outcome(run_id, tuple(begin), len(known))
        opened = tuple(call.opened for call in (await waiting_calls(self.store, run_id)).values())
        return Outcome(run_id, (*begin, ConsentAsked(opened), Finished("consent")), None)

    async def go_on(self, run_id: str, *, here: bool) -> None:
        """Let a run go on that waits, if all its calls are decided or out of time."""
        before = await read_state(self.store, run_id)
        if before and before.waits:
            after = await go_on(self.store, run_id)
            if after and not (after.waits or after.deleted):
                await self._start(run_id, here=here)

    async def leave(self, owner: str, chat: str) -> None:
        """Abandon what is open in a chat: its user has asked something else."""
        names = sorted([name async for name in self.store.names(chat_name(owner, chat))], reverse=True)
        for name in names[:_MOST_LOOKED_AT]:
            run_id = name[-32:]
            state = await read_state(self.store, run_id)
            if state and state.waits and not (state.stopped or state.deleted):
                with suppress(NotFound):
                    await self._stop(run_id, owner)


def chat_name(owner: str, chat: str) -> str:
    """Where the runs of a chat are entered, in the order of their beginning."""
    return f"chats/{records.digest(owner, chat)}/"
