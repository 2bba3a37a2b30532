"""Approvals: what a person decides about the calls that a paused run waits for (docs/decisions/0028).

A call's own object has its state, so that of two answers the first one wins, and nothing but an answer that is written
there lets a call run. `approvals/{id}` leads to it, `codes/{owner}/{code}` has the id, and `open/{owner}/{time}-{id}`
lists it until it is decided or its time is over.
"""

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import replace
from dataclasses import dataclass

import msgspec

from shared.chat_types import Decision
from shared.errors import BadRequest, Decided, InternalError, NotFound
from shared.events import ChatEvent, ConsentAsked
from shared.runs import Conflict, ObjectStore, claim, kept_tools, live, write_once
from shared.runs.journal import read_journal, write_first_piece
from shared.runs.records import State, decode, is_run_id
from shared.tools.calls import CallState, KeptCall, no_such_approval

MOST_LISTED = 100
"""Maximum approvals in one page of a list."""
_OPEN, _CLOSED = "open/", "closed/"
_PLACE = re.compile("[0-9a-f]{10}-[0-9a-f]{32}")
"""An approval's place among the open ones: when its time is over, in Unix seconds as hexadecimal digits, and its id."""
_NOT_RUN: tuple[CallState, ...] = ("open", "claimed", "denied", "expired")
_APPROVED: tuple[CallState, ...] = ("claimed", "executing", "executed", "failed", "unknown", "not_run")


class _Pointer(msgspec.Struct, frozen=True):
    """Where the call of an approval is."""

    run_id: str
    """The run."""
    name: str
    """Name of the call's object."""
    owner: str
    """Hash of the name of the run's owner."""
    asker: str
    """Name of the run's owner, for those who decide."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Somebody who reads or decides approvals."""

    owner: str
    """Hash of the name under which this person owns runs."""
    name: str
    """That name, for the record."""
    is_approver: bool = False
    """Whether others' approvals may be read and decided (`APPROVERS`)."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval as it stands."""

    call: KeptCall
    """The call."""
    name: str
    """Name of the call's object."""
    run_id: str
    """The run that waits for it."""
    asker: str
    """Name of the run's owner."""
    is_own: bool
    """Whether the reader owns the run."""


async def open_approvals(
    store: ObjectStore, run_id: str, state: State, calls: Mapping[str, KeptCall], *, asker: str
) -> None:
    """Let the calls be found that a run waits for."""
    for name, call in calls.items():
        pointer = msgspec.json.encode(_Pointer(run_id, name, state.owner, asker))
        if call.state != "open":
            continue  # decided before the run could wait: its process has ended in between
        for entry, data in (
            (f"approvals/{call.approval_id}", pointer),
            (kept_tools.codes_of(state.owner) + call.code, call.approval_id.encode()),
            (_open_name(state.owner, call), b""),
        ):
            await write_once(store, entry, data)


async def asked_calls(store: ObjectStore, run_id: str) -> dict[str, KeptCall]:
    """Return the calls of a run that a person decides or has decided about, and that have not run, by their objects."""
    found = await kept_tools.calls_of(store, run_id)
    return {name: call for name, call in found.items() if call.approval_id and call.state in _NOT_RUN}


async def waiting_calls(store: ObjectStore, run_id: str) -> dict[str, KeptCall]:
    """Return the calls of a run that wait for a decision, by the names of their objects."""
    return {name: call for name, call in (await asked_calls(store, run_id)).items() if call.state == "open"}


async def find_approval(store: ObjectStore, approval_id: str, decider: Decider) -> Approval:
    """Return an approval.

    Raises:
        NotFound: there is none of this id, or it may not be read.
    """
    entry = await store.read(f"approvals/{approval_id}") if is_run_id(approval_id) else None
    pointer = decode(entry.data, _Pointer) if entry else None
    is_own = pointer is not None and pointer.owner == decider.owner
    if pointer and (is_own or decider.is_approver):
        state, stored = await claim.read_state(store, pointer.run_id), await store.read(pointer.name)
        if stored and state and state.is_readable(time.time()):
            call = _with_time(decode(stored.data, KeptCall))  # `free_if_decided` writes that it has run out
            if call.approval_id == approval_id:
                return Approval(call, pointer.name, pointer.run_id, pointer.asker, is_own)
    raise no_such_approval()


async def list_approvals(
    store: ObjectStore, decider: Decider, limit: int = MOST_LISTED, after: str = "", *, decided: bool = False
) -> tuple[list[Approval], str | None]:
    """Return a page of the approvals of an owner, for approvers of those of all: first those that run out first.

    They are the open ones, or those that are decided or were not in time. The page begins `after` the place where the
    one before ended, and comes with where it ends; None: it is the last.

    Raises:
        BadRequest: no page ends there.
    """
    if after and not _PLACE.fullmatch(after):
        raise BadRequest("after: should be the `next` of the page before.")
    prefix = (_CLOSED if decided else _OPEN) + ("" if decider.is_approver else f"{decider.owner[:32]}/")
    names = {name.rpartition("/")[2]: name async for name in store.names(prefix)}
    listed, now = list[Approval](), f"{int(time.time()):010x}"
    for place in sorted(names):
        if place < now and not decided:
            await _close(store, names[place])  # nobody decided in time
        elif place > after:
            if len(listed) == limit:
                return listed, after
            with suppress(NotFound, InternalError):  # one that cannot be read must not keep the others
                approval = await find_approval(store, place[-32:], decider)
                if (approval.call.state == "open") is not decided:
                    listed.append(approval)
                    after = place
    return listed, None


async def with_code(store: ObjectStore, owner: str, code: str) -> str | None:
    """Return the id of an owner's approval with a code, decided or not; None: there is none."""
    found = await store.read(kept_tools.codes_of(owner) + code)
    return found.data.decode() if found else None


async def run_of(store: ObjectStore, approval_id: str) -> str | None:
    """Return the run that waits for an approval, decided or not; None: there is none."""
    found = await store.read(f"approvals/{approval_id}")
    return decode(found.data, _Pointer).run_id if found else None


async def record_decision(store: ObjectStore, approval_id: str, decision: Decision, decider: Decider) -> Approval:
    """Write a decision. The run does not go on by that: see `free_if_decided`.

    Raises:
        NotFound: there is no approval of this id, or it may not be decided.
        Decided: it was decided otherwise, or cannot be decided any more.
    """
    approval = await find_approval(store, approval_id, decider)
    if approval.call.state == "open":  # first, so that the run goes on if this process ends after the decision
        await claim.enter_going(store, approval.run_id)

    def decided(call: KeptCall) -> KeptCall | None:
        call = _with_time(call)
        if call.state == "open":
            state: CallState = "claimed" if decision.approved else "denied"
            return replace(call, state=state, decided_by=decider.name, reason=decision.reason)
        if call.state in ("expired", "abandoned"):
            raise Decided(f"This call was not decided in time, or the chat went on: it is {call.state}. Ask again.")
        if decision.approved is not (call.state in _APPROVED):
            raise Decided(f"This call was {'refused' if decision.approved else 'approved'} before.")
        return None

    call = await claim.change(store, approval.name, KeptCall, decided)
    if call is None:
        raise no_such_approval()
    return replace(approval, call=call)


async def free_if_decided(store: ObjectStore, run_id: str) -> State | None:
    """Let anybody claim a run that waits, if all its calls are decided; return its state, or None if it is gone.

    What it has shown becomes the beginning of another journal, without the end that the pause was: who follows it from
    the next event on is shown only what is new.
    """
    while True:
        state, etag = await claim.read_version(store, run_id)
        if state is None or not state.waits or state.stopped or state.deleted:
            return state
        if not await _is_decided(store, state):
            return state
        await claim.enter_going(store, run_id)  # who let the run rest meanwhile has seen no decision
        await write_first_piece(
            store, run_id, state.journal + 1, shown_before(await read_journal(store, run_id, state.journal))
        )
        again = {"waits": (), "journal": state.journal + 1, "runner": "", "runs": 0, "started": 0, "decided": True}
        free = replace(state, beat=time.time(), **again)
        with suppress(Conflict):
            await store.write(f"{run_id}/state", msgspec.json.encode(free), etag)
            return free


async def let_rest(store: ObjectStore, run_id: str) -> State | None:
    """Look no longer after a run that waits for a person, unless that has decided meanwhile; return its state."""
    await store.delete(claim.GOING + run_id)
    state = await free_if_decided(store, run_id)
    if state and not (state.waits or state.deleted):
        await claim.enter_going(store, run_id)
    return state


async def close_calls(store: ObjectStore, owner: str, names: Iterable[str]) -> None:
    """Close the calls that a run waited for, which was stopped; `owner` is a hash, as in its state."""
    for name in names:
        if call := await claim.change(store, name, KeptCall, _abandoned):
            await _close(store, _open_name(owner, call))


def _abandoned(call: KeptCall) -> KeptCall | None:
    return replace(call, state="abandoned") if call.state in ("open", "claimed") else None


def shown_before(events: list[ChatEvent]) -> list[ChatEvent]:
    """Return the events of a turn without the end that is a pause."""
    if live.is_paused(events):
        return [event for event in events[:-1] if not isinstance(event, ConsentAsked)]
    return events


async def _is_decided(store: ObjectStore, state: State) -> bool:
    """Whether all calls of a run are decided, or out of time."""
    is_decided = True
    for name in state.waits:
        call = await claim.change(
            store, name, KeptCall, lambda call: None if (now := _with_time(call)) is call else now
        )
        if call and call.state == "open":
            is_decided = False
        elif call:
            await _close(store, _open_name(state.owner, call))
    return is_decided


def _with_time(call: KeptCall) -> KeptCall:
    """Return a call as it stands at this time: one that nobody has decided in time is expired."""
    return replace(call, state="expired") if call.state == "open" and time.time() >= call.expires else call


async def _close(store: ObjectStore, entry: str) -> None:
    """List an approval among those that are decided or out of time, and no longer among the open ones."""
    await write_once(store, _CLOSED + entry.removeprefix(_OPEN))
    await store.delete(entry)


def _open_name(owner: str, call: KeptCall) -> str:
    return f"{_OPEN}{owner[:32]}/{int(call.expires):010x}-{call.approval_id}"
