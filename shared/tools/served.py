"""One server of the agents file: what it offers now, and which of that agents may have."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import replace
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import msgspec

from shared.chat_models import ToolDefinition
from shared.chat_types import Json, RequestContext
from shared.outbound.faults import Fault, Reason, ServiceFault, errors_of
from shared.tools import Tool, ToolContext, ToolResult, WrongArguments
from shared.tools.arguments import for_models, is_deeper, problem_in
from shared.tools.definitions import function_name
from shared.tools.servers import AllowedTool, Api, ToolServer

_LISTING_SECONDS = 10.0
"""Time limit for a server's list of tools: turns wait for it."""
_SLOW_SECONDS = 1.0
"""How long a turn waits for it if the server took too long the last time."""
_DOWN_SECONDS = 15.0
"""How long a server that is down gets no further request."""
_CHECKED_SECONDS = 30.0
"""How long health uses a list again: probes are frequent."""
_MOST_CALLERS = 200
"""Callers whose lists are kept, where each has one of their own."""
_LONGEST_DESCRIPTION = 4_000
"""Characters of a description that models get."""
_LARGEST_SCHEMA = 50_000
"""Bytes of a schema of arguments."""
_DEEPEST_SCHEMA = 63
"""Levels of one: libraries that read it recurse."""

_log = logging.getLogger("switchboard.tools")


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool or an operation as its server defines it now."""

    name: str
    """Its name there."""
    description: str
    """What it does."""
    schema: dict[str, Json]
    """JSON schema of its arguments, an object."""
    digest: str
    """SHA-256 of its definition."""
    call: Callable[[Mapping[str, Json], RequestContext], Awaitable[ToolResult]]
    """Calls it. Raises ServiceFault: there is no result."""
    reads: bool = False
    """Whether it only reads, by what it is and not by what its server says."""


class Source(Protocol):
    """Where the definitions of one server come from."""

    async def offered(self, context: RequestContext) -> tuple[Sequence[Offered], float]:
        """Ask what there is; return it, and for how many seconds it holds.

        Raises:
            ServiceFault: there is no answer.
        """
        ...

    async def aclose(self) -> None:
        """End what is open."""
        ...


@dataclass(slots=True)
class _Listing:
    """What a server offered at the last request for its tools."""

    tools: Sequence[Tool] = ()
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a tool that agents may have is not among them, by its name."""
    asked: float = -math.inf
    """Time of that request, on the event loop's clock."""
    until: float = -math.inf
    """Time of the next request, on the same clock."""
    problem: str = ""
    """Why there is nothing; empty: there is."""
    is_slow: bool = False
    """Whether that is because the server took too long: it is asked aside then, while turns go on."""
    asking: asyncio.Task[None] | None = None
    """The request that is going on, or the last one."""


class Served:
    """One server.

    Args:
        definition: What the agents file says of it.
        source: Where its definitions come from.
    """

    def __init__(self, definition: ToolServer | Api, source: Source) -> None:
        self.name = definition.name
        self._definition = definition
        self._source = source
        self._listings: dict[str, _Listing] = {}
        """By the caller where the server knows who calls, else one for all."""
        self._seen: dict[str, str] = {}
        """The digests that were seen first."""
        self._told: dict[str, str] = {}
        """The digests that the log has named last."""

    async def tools(self, context: RequestContext) -> list[Tool]:
        """Return the tools that agents may have now; none if the server is down."""
        return [*(await self._listing(context)).tools]

    async def state(self, context: RequestContext) -> tuple[str, str]:
        """Say what is wrong, or nothing, and what is offered."""
        if self._definition.auth.on_behalf_of and context.caller.id is None:
            return "", "It is asked for each caller."
        listing = await self._listing(context, _CHECKED_SECONDS)
        allowed = self._definition.allowed
        problems = [listing.problem] if listing.problem else []
        problems += [f"{name}: {problem}." for name, problem in listing.problems.items()]
        return " ".join(problems), f"{len(allowed)} tools."

    async def aclose(self) -> None:
        """End what is open."""
        asking = [listing.asking for listing in self._listings.values() if listing.asking]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await self._source.aclose()

    async def _listing(self, context: RequestContext, age: float = 0) -> _Listing:
        """Return what the server offers, and ask it if that is no longer fresh and older than `age` seconds.

        A problem is part of the result.
        """
        key = context.caller.id or "" if self._definition.auth.on_behalf_of else ""
        listing = self._listings.setdefault(key, _Listing())
        if len(self._listings) > _MOST_CALLERS:
            del self._listings[next(iter(self._listings))]
        now = asyncio.get_running_loop().time()
        if listing.asking is None or listing.asking.done():
            if now < listing.until or now - listing.asked < age:
                return listing
            listing.asked = now
            listing.asking = asyncio.create_task(self._ask(listing, replace(context, deadline=now + _LISTING_SECONDS)))
        patience = _SLOW_SECONDS if listing.is_slow else _LISTING_SECONDS
        asking = listing.asking  # while this waits, another turn may ask anew
        await asyncio.wait([asking], timeout=max(min(patience, context.deadline - now), 0))
        if asking.done():
            asking.result()
        elif not listing.problem:
            return _Listing(problem=self._sentence(Fault(Reason.TOO_SLOW)))
        return listing

    async def _ask(self, listing: _Listing, context: RequestContext) -> None:
        """Ask the server what it offers, whether or not anybody waits that long."""
        seconds = _DOWN_SECONDS
        try:
            async with asyncio.timeout_at(context.deadline):
                offered, seconds = await self._source.offered(context)
                # In a thread: a hundred schemas may have megabytes.
                listing.tools, listing.problems = await asyncio.to_thread(self._checked, offered)
            listing.problem, listing.is_slow = "", False
        except _FAULTS as exc:
            fault = _fault_of(exc)
            listing.tools, listing.problems = (), {}
            listing.problem, listing.is_slow = self._sentence(fault), fault.reason is Reason.TOO_SLOW
            seconds = _DOWN_SECONDS
            _log.warning("tools of %s: %s", self.name, listing.problem)
        finally:
            listing.until = asyncio.get_running_loop().time() + seconds

    def _checked(self, offered: Sequence[Offered]) -> tuple[list[Tool], dict[str, str]]:
        """Return the tools that agents may have, and why they may not have the others.

        Remembers what is seen first, and logs what is new or no longer what it was.
        """
        there, tools, problems = {one.name: one for one in offered}, list[Tool](), dict[str, str]()
        for name, allowed in self._definition.allowed.items():
            found = there.get(name)
            digest = found.digest if found else ""
            is_new = self._told.get(name) != digest
            self._told[name] = digest
            problem = self._problem(allowed, found) if found else "it is not there"
            if found and not problem:
                tools.append(self._tool(allowed, found))
            else:
                problems[name] = problem
            if is_new and problem:
                _log.warning("%s.%s is not offered: %s", self.name, name, problem)
            elif is_new and allowed.pin is None:
                _log.info("%s.%s has no pin: to accept only this definition, set pin: %s", self.name, name, digest)
        return tools, problems

    def _problem(self, allowed: AllowedTool, found: Offered) -> str:
        """Say why a tool is not offered; empty if it is."""
        if allowed.pin and allowed.pin.removeprefix("sha256:") != found.digest:
            return f"its definition is not the pinned one; its SHA-256 is {found.digest}"
        if not allowed.pin and self._seen.setdefault(found.name, found.digest) != found.digest:
            return f"its definition has changed; review it and set pin: {found.digest}, or restart the app"
        if found.schema.get("type") != "object" or is_deeper(found.schema, _DEEPEST_SCHEMA):
            return "the schema of its arguments is no object, or nested too deeply"
        if len(msgspec.json.encode(found.schema)) > _LARGEST_SCHEMA:
            return "the schema of its arguments is too large"
        return ""

    def _tool(self, allowed: AllowedTool, found: Offered) -> Tool:
        never = found.reads if allowed.approval is None else allowed.approval == "never"
        is_repeatable = found.reads or never if allowed.read_only is None else allowed.read_only
        title = f"{self.name}.{found.name}"
        return Tool(
            ToolDefinition(function_name(title), found.description[:_LONGEST_DESCRIPTION], for_models(found.schema)),
            partial(self._call, found, allowed.seconds, is_repeatable),
            server=self.name,
            name=found.name,
            needs_consent=not never,
            is_repeatable=is_repeatable,
            digest=found.digest,
            seconds=allowed.seconds,
        )

    async def _call(
        self,
        found: Offered,
        seconds: float,
        is_repeatable: bool,
        arguments: Mapping[str, Json],
        context: ToolContext,
    ) -> ToolResult:
        """Run one call. What goes wrong at the server is told to the model; wrong arguments raise WrongArguments."""
        if problem := problem_in(arguments, found.schema):
            raise WrongArguments(problem)
        until = min(asyncio.get_running_loop().time() + seconds, context.context.deadline)
        try:
            async with asyncio.timeout_at(until):
                return await found.call(arguments, context.context)
        except _FAULTS as exc:
            fault = _fault_of(exc)
            _log.warning("%s.%s: %s, status %s", self.name, found.name, fault.reason.name, fault.status)
            may_have_run = fault.reason in _MAY_HAVE_RUN and not is_repeatable
            known = " It is not known whether it was done." if may_have_run else ""
            return ToolResult(f"Error: {self._sentence(fault)}{known}", is_error=True)

    def _sentence(self, fault: Fault) -> str:
        return replace(errors_of("tool server"), name=f"The server of {self.name}").error(fault).message


_FAULTS = (ServiceFault, TimeoutError, RecursionError)
"""What sources raise; the last of an answer that could be decoded and is nested too deeply for more."""


def _fault_of(exc: Exception) -> Fault:
    if isinstance(exc, ServiceFault):
        return exc.fault
    return Fault(Reason.TOO_SLOW if isinstance(exc, TimeoutError) else Reason.NOT_AN_ANSWER)


_MAY_HAVE_RUN = frozenset({Reason.CUT_OFF, Reason.TOO_SLOW, Reason.NOT_AN_ANSWER, Reason.BROKEN})
"""Faults after which a call may have had its effect."""
