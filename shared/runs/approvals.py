"""Approvals: what a person decides about the calls that a paused run waits for (docs/decisions/0028).

A call's own object has its state, so that of two answers the first one wins, and nothing but an answer that is written
there lets a call run. `approvals/{id}` leads to it, `codes/{owner}/{code}` has the id, and `open/{owner}/{id}` lists it
until it is decided.
"""

import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from copy import replace
from dataclasses import dataclass

import msgspec

from shared.chat_types import Decision
from shared.errors import Decided, NotFound
from shared.events import ChatEvent, ConsentAsked
from shared.runs import NEW, Conflict, ObjectStore, Stored
from shared.runs.claim import read_state
from shared.runs.journal import read_journal, write_first_piece
from shared.runs.kept_tools import codes_of, read_call, tools_of
from shared.runs.live import is_paused
from shared.runs.packing import pack
from shared.runs.records import State, decode, is_run_id
from shared.tools.calls import CallState, KeptCall

MOST_LISTED = 100
"""Approvals that are listed at most."""
_OPEN = "open/"
_APPROVED: tuple[CallState, ...] = ("claimed", "executing", "executed", "failed")


class _Pointer(msgspec.Struct, frozen=True):
    """Where the call of an approval is."""

    run_id: str
    """The run."""
    name: str
    """Name of the call's object."""
    owner: str
    """Hash of the name of who asked."""
    asker: str
    """Who asked, for those who decide."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Somebody who reads or decides approvals."""

    owner: str
    """Hash of the name of the owner of runs that it is."""
    name: str
    """Who it is, for the record."""
    is_approver: bool = False
    """Whether others' approvals may be read and decided (`APPROVERS`)."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval as it stands."""

    call: KeptCall
    """The call."""
    run_id: str
    """The run that waits for it."""
    asker: str
    """Who asked."""
    is_own: bool
    """Whether the reader is who asked."""


async def open_approvals(
    store: ObjectStore, run_id: str, state: State, calls: Mapping[str, KeptCall], *, asker: str
) -> None:
    """Let the calls be found that a run waits for."""
    for name, call in calls.items():
        pointer = msgspec.json.encode(_Pointer(run_id, name, state.owner, asker))
        for entry, data in (
            (f"approvals/{call.approval_id}", pointer),
            (codes_of(state.owner) + call.code, call.approval_id.encode()),
            (_index_name(state.owner, call), b""),
        ):
            with suppress(Conflict):  # it is there already
                await store.write(entry, data, NEW)


async def waiting_calls(store: ObjectStore, run_id: str) -> dict[str, KeptCall]:
    """Return the calls of a run that wait for a decision, by the names of their objects."""
    names = [name async for name in store.names(tools_of(run_id))]
    found = {name: read_call(stored) for name in names if (stored := await store.read(name))}
    return {name: call for name, call in found.items() if call.state == "open"}


async def find_approval(store: ObjectStore, approval_id: str, decider: Decider) -> Approval:
    """Return an approval.

    Raises:
        NotFound: there is none of this id, or it may not be read.
    """
    approval, _, _ = await _find(store, approval_id, decider)
    return approval


async def list_approvals(store: ObjectStore, decider: Decider) -> list[Approval]:
    """Return the open approvals of an owner; for approvers those of all."""
    prefix = _OPEN if decider.is_approver else _opened_by(decider.owner)
    names = [name async for name in _first(store.names(prefix), MOST_LISTED)]
    listed = list[Approval]()
    for name in names:
        with suppress(NotFound):
            listed.append(await find_approval(store, name[-32:], decider))
    return [approval for approval in listed if approval.call.state == "open"]


async def with_code(store: ObjectStore, owner: str, code: str) -> str | None:
    """Return the id of an owner's approval with a code, decided or not; None: there is none."""
    found = await store.read(codes_of(owner) + code)
    return found.data.decode() if found else None


async def decide(store: ObjectStore, approval_id: str, decision: Decision, decider: Decider) -> Approval:
    """Write a decision. The run does not go on by that: see `go_on`.

    Raises:
        NotFound: there is no approval of this id, or it may not be decided.
        Decided: it was decided otherwise, or cannot be decided any more.
    """
    while True:
        approval, name, stored = await _find(store, approval_id, decider)
        call = approval.call
        if call.state == "open":
            state: CallState = "claimed" if decision.approved else "denied"
            call = replace(call, state=state, decided_by=decider.name, reason=decision.reason)
            try:
                await store.write(name, pack(call), stored.etag)
            except Conflict:
                continue  # somebody else has decided at the same time
            return replace(approval, call=call)
        if call.state in ("expired", "abandoned"):
            raise Decided(f"This call was not decided in time, or the chat went on: it is {call.state}. Ask again.")
        if decision.approved is not (call.state in _APPROVED):
            raise Decided(f"This call was {'refused' if decision.approved else 'approved'} before.")
        return approval


async def go_on(store: ObjectStore, run_id: str) -> State | None:
    """Let a run go on that waits, if all is decided; return its state, or None if it is gone.

    What it has shown becomes the beginning of another journal, without the end that the pause was: who follows it from
    the next event on is shown only what is new.
    """
    while True:
        found = await store.read(f"{run_id}/state")
        state = decode(found.data, State) if found else None
        if found is None or state is None or not state.waits or state.stopped or state.deleted:
            return state
        if not await _is_decided(store, state):
            return state
        await write_first_piece(
            store, run_id, state.journal + 1, shown_before(await read_journal(store, run_id, state.journal))
        )
        free = msgspec.structs.replace(
            state, waits=(), journal=state.journal + 1, runner="", runs=0, started=0, beat=time.time()
        )
        with suppress(Conflict):
            await store.write(f"{run_id}/state", msgspec.json.encode(free), found.etag)
            return free


async def abandon(store: ObjectStore, owner: str, names: Iterable[str]) -> None:
    """Close the calls that a run waited for, which was stopped.

    Args:
        store: Keeps them.
        owner: Hash of the name of the run's owner.
        names: Of the calls' objects.
    """
    for name in names:
        while (found := await store.read(name)) and (call := read_call(found)).state in ("open", "claimed"):
            with suppress(Conflict):
                await store.write(name, pack(replace(call, state="abandoned")), found.etag)
        if found:
            await store.delete(_index_name(owner, read_call(found)))


def shown_before(events: list[ChatEvent]) -> list[ChatEvent]:
    """Return the events of a turn without the end that is a pause."""
    if is_paused(events):
        return [event for event in events[:-1] if not isinstance(event, ConsentAsked)]
    return events


async def _is_decided(store: ObjectStore, state: State) -> bool:
    """Whether all calls of a run are decided, or out of time."""
    is_decided = True
    for name in state.waits:
        while (found := await store.read(name)) and (call := read_call(found)).state == "open":
            if time.time() < call.expires:
                is_decided = False
                break
            with suppress(Conflict):
                await store.write(name, pack(replace(call, state="expired")), found.etag)
        if found and (call := read_call(found)).state != "open":
            await store.delete(_index_name(state.owner, call))
    return is_decided


async def _find(store: ObjectStore, approval_id: str, decider: Decider) -> tuple[Approval, str, Stored]:
    """Return an approval, and the name and the version of its call's object."""
    entry = await store.read(f"approvals/{approval_id}") if is_run_id(approval_id) else None
    pointer = decode(entry.data, _Pointer) if entry else None
    is_own = pointer is not None and pointer.owner == decider.owner
    if pointer and (is_own or decider.is_approver):
        state, stored = await read_state(store, pointer.run_id), await store.read(pointer.name)
        if stored and state and state.is_readable(time.time()):
            call = read_call(stored)
            if call.approval_id == approval_id:
                if call.state == "open" and time.time() >= call.expires:
                    call = replace(call, state="expired")  # `go_on` writes it
                return Approval(call, pointer.run_id, pointer.asker, is_own), pointer.name, stored
    raise NotFound("There is no such approval, or it is not yours to see.")


def _index_name(owner: str, call: KeptCall) -> str:
    return _opened_by(owner) + call.approval_id


def _opened_by(owner: str) -> str:
    return f"{_OPEN}{owner[:32]}/"


async def _first(names: AsyncGenerator[str], most: int) -> AsyncGenerator[str]:
    count = 0
    async for name in names:
        if (count := count + 1) > most:
            return
        yield name
