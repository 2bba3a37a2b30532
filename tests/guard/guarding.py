"""Runs turns that are written down as their events through the guard."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from shared.chat_types import ChatRequest, Message, RequestContext, Role
from shared.errors import SwitchboardError
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    DataPoint,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    Usage,
)
from shared.guard import Place, SafetyService, Side
from shared.guard.rules import Rules
from shared.guard.stream_guard import guard

ASKED = Place(Side.PROMPT, "0", 0)
STARTED = CompletionStarted("id", 1, "model")
FOUND = Retrieved((DataPoint("a.md", "a"),), (Thought("Original user query", "Hi"),))

type Part = ChatEvent | SwitchboardError | asyncio.Event
"""A part of a turn: an event, what it fails with, or what it waits for."""


def rules(service: SafetyService, *, mode: str = "enforce", on_error: str = "block", timeout: float = 5) -> Rules:
    return Rules(
        service,
        kind="rai",
        model="gpt",
        mode="enforce" if mode == "enforce" else "annotate",
        on_error="block" if on_error == "block" else "allow",
        timeout=timeout,
    )


def request(*contents: str) -> ChatRequest:
    return ChatRequest(tuple(Message(Role.USER, content) for content in contents or ("Hi",)))


def context(seconds: float = 30) -> RequestContext:
    return RequestContext("invocation", asyncio.get_running_loop().time() + seconds)


@dataclass
class Turn:
    """A turn that does as it is told, and says how far it got."""

    parts: Sequence[Part]
    pulled: list[ChatEvent] = field(default_factory=list[ChatEvent])
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is over, be it early."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def reached(self, events: int) -> None:
        """Wait until so many events were pulled."""
        async with asyncio.timeout(10):
            while len(self.pulled) < events:
                self._moved.clear()
                await self._moved.wait()

    async def events(self) -> AsyncGenerator[ChatEvent]:
        try:
            for part in self.parts:
                match part:
                    case SwitchboardError():
                        raise part
                    case asyncio.Event():
                        await part.wait()
                    case _:
                        self.pulled.append(part)
                        self._moved.set()
                        yield part
        finally:
            self.closed.set()


@dataclass
class Outcome:
    """What came out of the guard."""

    events: list[ChatEvent] = field(default_factory=list[ChatEvent])
    error: SwitchboardError | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, event: ChatEvent) -> None:
        self.events.append(event)
        self._changed.set()

    async def until(self, seen: Callable[["Outcome"], bool]) -> None:
        """Wait until what came out so far is as it is meant to be."""
        async with asyncio.timeout(10):
            while not seen(self):
                self._changed.clear()
                await self._changed.wait()

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def messages(self) -> list[AgentMessage]:
        return [event for event in self.events if isinstance(event, AgentMessage)]

    @property
    def finished(self) -> Finished:
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last

    @property
    def safety(self) -> Thought:
        thoughts = [thought for event in self.events if isinstance(event, ThoughtsAdded) for thought in event.thoughts]
        (found,) = [thought for thought in thoughts if thought.title == "Safety"]
        return found


async def watched(
    parts: Sequence[Part] | Turn,
    by: Rules,
    asked: ChatRequest | None = None,
    *,
    team: bool = False,
    seconds: float = 30,
    into: Outcome | None = None,
) -> Outcome:
    """Run a turn to its end; `into` shows what came out meanwhile. Sees that nothing is left running."""
    turn = parts if isinstance(parts, Turn) else Turn(parts)
    outcome = into or Outcome()
    running = asyncio.all_tasks()
    try:
        async with aclosing(guard(turn.events(), asked or request(), context(seconds), by, team=team)) as events:
            async for event in events:
                outcome.show(event)
    except SwitchboardError as error:
        outcome.error = error
    finally:
        assert asyncio.all_tasks() <= running
    return outcome


async def quiet() -> None:
    """Until everybody waits for somebody else: nothing comes from outside here."""
    for _ in range(100):
        await asyncio.sleep(0)


def answer(*texts: str, reason: str = "stop", followups: tuple[str, ...] | None = None) -> list[ChatEvent]:
    """The events of an answer in these pieces."""
    finished = Finished(reason, Usage(1, 2), followup_questions=followups)
    return [FOUND, STARTED, *(TextDelta(text) for text in texts if text), finished]
