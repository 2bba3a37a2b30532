"""Runs the calls of one agent, and first asks a person where a tool needs that (docs/decisions/0028).

A round is the calls of one answer of a model. If one of them needs consent, none of the round runs: the chat client
calls `enter` before the framework sees any call. `run` is the only way to a tool, and checks what is stored once more.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import replace
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Literal
from uuid import uuid4

import msgspec

from shared.chat_types import Json, TokenMeter, ToolCall
from shared.errors import RateLimited
from shared.events import OpenCall, ToolEnded, ToolStarted
from shared.telemetry import WatchCall, unwatched_call
from shared.tools import Tool, ToolResult, WrongArguments
from shared.tools.arguments import problem_in
from shared.tools.calls import CallBook, CallState, KeptCall, Place, canonical

_NOT_KNOWN = "It is not known whether this was done. Do not call it again, and tell the user so."
_NOBODY = "Error: this call needs a person's consent, and nobody can be asked for it here. It did not run."
_CHANGED = "Error: the tool has changed since a person agreed to this call. It did not run. Call it again to ask anew."
_CLOSED: Mapping[CallState, str] = {
    "denied": "A person refused this call. It did not run.",
    "expired": "Nobody agreed to this call in time. It did not run.",
    "abandoned": "The user went on without agreeing to this call. It did not run.",
}

_LONGEST_TOLD = 500
"""Characters of a result that a user is told of a call that was done."""

type Status = Literal["done", "failed", "denied", "expired", "unknown"]
type _RunCall = Callable[[], Awaitable[ToolResult]]


class Paused(Exception):
    """The turn pauses until a person has decided: none of the round's calls has run."""

    def __init__(self, calls: tuple[OpenCall, ...]) -> None:
        super().__init__()
        self.calls = calls


@dataclass(frozen=True, slots=True)
class CallServices:
    """What the calls of one turn use."""

    tell: Callable[[ToolStarted | ToolEnded], Awaitable[None]]
    """Receives the start and the end of each call of a server's tool."""
    book: CallBook | None = None
    """Stores the calls; None: the turn cannot pause, and never runs again."""
    clear: Callable[[str], Awaitable[None]] | None = None
    """Checks what a model wrote before anything runs, and raises an error if refused; None: nothing is checked."""
    meter: TokenMeter | None = None
    """Counts the calls in the caller's budget; None: there is no budget."""
    watch: WatchCall = unwatched_call
    """Traces the calls of servers' tools."""
    screen: Callable[[str], Awaitable[str | None]] | None = None
    """Returns what a model reads in place of a tool's result, None for the result; None: nothing is checked."""
    read: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What the agents of the turn have read: the name of each source or tool, and its text."""


class Gate:
    """The calls of one agent in one turn.

    Args:
        agent: Name of the agent.
        tools: Its tools, by the names that its model uses.
        services: What the calls of the turn use.
        origins: Returns where values of arguments come from that the user has not written, by their keys.
    """

    def __init__(
        self,
        agent: str,
        tools: Mapping[str, Tool],
        services: CallServices,
        origins: Callable[[Mapping[str, Json]], Mapping[str, str]] = lambda _arguments: {},
    ) -> None:
        self._agent = agent
        self._tools = tools
        self._services = services
        self._origins = origins
        self.outcomes: list[str] = []
        """Sentences on what came of the calls that a person agreed to, in their order."""
        self._round = 0
        self._places: dict[str, Place] = {}

    def next_round(self) -> str:
        """Begin a call of the model; return its name in the turn, or nothing if no calls are stored."""
        self._round += 1
        return f"{self._agent}/{self._round}" if self._services.book else ""

    async def enter(self, calls: Sequence[ToolCall]) -> None:
        """Let the calls of a round begin.

        Raises:
            Paused: some of them need a person's consent.
        """
        self._places = {call.id: Place(self._agent, self._round, at) for at, call in enumerate(calls)}
        if self._services.book is None or not self._services.book.asks:
            return
        asked = [await self._standing(self._services.book, call) for call in calls]
        if opened := tuple(kept.opened for kept in asked if kept and kept.state == "open"):
            raise Paused(opened)

    async def _standing(self, book: CallBook, call: ToolCall) -> KeptCall | None:
        """Return what is stored of a call that needs consent, and ask for it if it is new; None: it needs none."""
        tool, place = self._tools.get(call.name), self._places[call.id]
        if tool is None or not tool.needs_consent:
            return None
        arguments: dict[str, Json] = msgspec.json.decode(call.arguments)  # the chat client has made it an object
        if problem_in(arguments, tool.definition.parameters):
            return None  # the model is told what is wrong, and nothing runs
        written = canonical(arguments)
        kept = await book.find(place)
        if kept is None or not kept.is_same(tool, written):
            kept = self._new(place, tool, written, "open")
            code, origins = await book.new_code(), self._origins(arguments)
            kept = replace(kept, approval_id=token_hex(16), code=code, expires=book.expires, origins=origins)
            await book.put(place, kept)
        return kept

    def _new(self, place: Place, tool: Tool, arguments: str, state: CallState) -> KeptCall:
        book = self._services.book
        return KeptCall(
            call_id=book.call_id(place) if book else f"call_{uuid4().hex[:24]}",
            agent=self._agent,
            server=tool.server,
            tool=tool.own_name,
            arguments=arguments,
            state=state,
            digest=tool.digest,
            description=tool.definition.description,
        )

    async def run(self, call_id: str, tool: Tool, arguments: Mapping[str, Json], call: _RunCall) -> ToolResult:
        """Run a call, or return its result if it ran before.

        Raises:
            WrongArguments, SwitchboardError: as `Tool.call` raises them. Of a server's tool no WrongArguments.
        """
        book, place, written = self._services.book, self._places[call_id], canonical(arguments)
        kept = await book.find(place) if book else None
        if kept and not kept.is_same(tool, written):
            kept = None
        if kept and kept.result:
            await self._tell_start(kept)
            return await self._told(kept, kept.result, "failed" if kept.result.is_error else "done")
        if tool.needs_consent and (kept is None or kept.state == "open"):
            problem = problem_in(arguments, tool.definition.parameters)
            return ToolResult(f"Error: {problem}" if problem else _NOBODY, is_error=True)
        if kept and (ended := _without_running(tool, kept)):
            if book and kept.state in ("claimed", "executing"):
                kept = replace(kept, state="unknown" if ended[0] == "unknown" else "not_run")
                await book.put(place, kept)
            return await self._told(kept, ToolResult(ended[1], is_error=True), ended[0])
        return await self._ran(place, tool, kept or self._new(place, tool, written, "executing"), call)

    async def _ran(self, place: Place, tool: Tool, kept: KeptCall, call: _RunCall) -> ToolResult:
        """Run a call that may run, and store its result."""
        book, began, status = self._services.book, time.monotonic(), "done"
        if tool.server and self._services.clear:
            await self._services.clear(f"{tool.title} {kept.arguments}")
        if tool.server and self._services.meter and (refusal := _refused(self._services.meter)):
            if book:  # the turn may run again when there is room, and the user has been told that this did not run
                await book.put(place, replace(kept, state="not_run", result=refusal))
            return await self._told(kept, refusal, "failed")
        if book and (tool.needs_consent or not tool.is_repeatable):
            kept = replace(kept, state="executing")
            await book.put(place, kept)
        if tool.server:
            await self._tell_start(kept)
            with self._services.watch(tool.title, kept.call_id, kept.arguments) as tell:
                result, status = await _called(call)
                if self._services.screen and (instead := await self._services.screen(result.text)):
                    result = ToolResult(instead, is_error=result.is_error)
                tell(status, result.text)
        else:
            result = await call()
        if book:
            await book.put(place, replace(kept, state="failed" if result.is_error else "executed", result=result))
        return await self._told(kept, result, status, (time.monotonic() - began) * 1000)

    def tell_left(self, calls: Iterable[KeptCall]) -> None:
        """Say of calls that a person agreed to that the answer ends without them."""
        for name in (f"{kept.server}.{kept.tool}" for kept in calls):
            if not any(told.startswith(f"{name} was not run") for told in self.outcomes):
                self.outcomes.append(f"{name} was not run: the tool is not there now.")

    async def _tell_start(self, kept: KeptCall) -> None:
        if kept.server:
            await self._services.tell(ToolStarted(*_call_of(kept)))

    async def _told(self, kept: KeptCall, result: ToolResult, status: Status, milliseconds: float = 0) -> ToolResult:
        if kept.approval_id and (outcome := _outcome(kept, result, status)):
            self.outcomes.append(outcome)
        if kept.server:
            ended = ToolEnded(*_call_of(kept), result.text, status, milliseconds, kept.approval_id)
            await self._services.tell(ended)
        return result


def _call_of(kept: KeptCall) -> tuple[str, str, str, str, str]:
    """Return the fields of a `ServerCall`."""
    return kept.call_id, kept.agent, kept.server, kept.tool, kept.arguments


def _without_running(tool: Tool, kept: KeptCall) -> tuple[Status, str] | None:
    """Return the status and the text for a call that must not run; None: it may run."""
    match kept.state:
        case "denied" | "expired" | "abandoned":
            why = f" Reason: {kept.reason}" if kept.reason else ""
            return "expired" if kept.state == "expired" else "denied", f"{_CLOSED[kept.state]}{why}"
        case "unknown":
            return "unknown", _NOT_KNOWN
        case "executing" if not tool.is_repeatable or kept.digest != tool.digest:
            return "unknown", _NOT_KNOWN  # the process that ran it has ended meanwhile
        case "not_run":
            return "failed", _CHANGED
        case "claimed" if kept.digest != tool.digest:
            return "failed", _CHANGED
        case _:
            return None


def _outcome(kept: KeptCall, result: ToolResult, status: Status) -> str:
    """Say what came of a call that a person agreed to; nothing of one that was refused, or that the tool failed at."""
    name = f"{kept.server}.{kept.tool}"
    match status:
        case "done":
            return f"{name} was done: {' '.join(result.text.split())[:_LONGEST_TOLD] or 'no result'}"
        case "unknown":
            return f"It is not known whether {name} was done."
        case "failed" if kept.state in ("claimed", "not_run"):
            why = "the tool has changed since a person agreed" if result.text == _CHANGED else "a limit is reached"
            return f"{name} was not run: {why}."
        case _:
            return ""


async def _called(call: _RunCall) -> tuple[ToolResult, Status]:
    """Call a server's tool. An error becomes a result, so that the model can tell the user about it."""
    try:
        result = await call()
    except WrongArguments as wrong:
        result = ToolResult(f"Error: {wrong}", is_error=True)
    return result, "failed" if result.is_error else "done"


def _refused(meter: TokenMeter) -> ToolResult | None:
    """Count a call; return an error for the model if the caller's budget is used up."""
    try:
        meter.count_call()
    except RateLimited as error:
        return ToolResult(f"Error: {error.message} The call did not run.", is_error=True)
    return None
