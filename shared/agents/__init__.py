"""Agents: one that answers single chat, or a team that answers together, run by Microsoft Agent Framework.

`definitions` reads the team from a YAML file at start-up. `turns` begins a turn, and imports everything that needs the
framework when the first request comes. `team` and `single` are the two kinds of turns.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress

import msgspec

from shared.agents.definitions import Agents
from shared.chat_models import ChatModel
from shared.retrieval import Retriever
from shared.telemetry import Watch, WatchCall, unwatched, unwatched_call
from shared.tools import ToolSource
from shared.tools.calls import CallBook

CONCURRENT_CALLS = 8
"""Model calls of one request that run at the same time, at most. The other calls of the request wait."""
_MOST_WAITING = 1_000
"""Maximum number of results that wait to be read; with more, the work waits too."""


class AgentParts(msgspec.Struct, frozen=True):
    """The parts that agents work with; the same for all requests."""

    agents: Agents
    """The team and its agents."""
    model: ChatModel
    """The model that answers for each agent."""
    retriever: Retriever
    """Where the agents' searches search."""
    watch: Watch = unwatched
    """Traces an agent while it makes a message."""
    watch_call: WatchCall = unwatched_call
    """Traces the calls of servers' tools."""
    concurrent_calls: int = CONCURRENT_CALLS
    """Model calls of one request that may run at the same time."""
    tool_servers: ToolSource | None = None
    """The tools of servers and APIs; None: the agents file has none."""
    book: CallBook | None = None
    """Keeps the calls of the turn; None: it cannot pause."""
    clear: Callable[[str], Awaitable[None]] | None = None
    """Checks what a model wrote before a tool gets it, and raises an error if refused; None: nothing is checked."""
    screen: Callable[[str], Awaitable[str | None]] | None = None
    """Returns what a model reads in place of a tool's result, None for the result; None: nothing is checked."""


async def run_as_task[T](
    work: Callable[[Callable[[T], Awaitable[None]]], Coroutine[None, None, None]],
) -> AsyncGenerator[T]:
    """Run work in a task of its own, and yield each result as the work hands it over.

    The framework calls us with messages, while a turn is an iterator of events: this joins the two. Closing the
    iterator early cancels the work and waits until it has ended.

    Args:
        work: Gets a function that takes its results.

    Raises:
        Exception: the error of the work, after the results that it handed over before.
    """
    results = asyncio.Queue[T](_MOST_WAITING)
    task = asyncio.create_task(work(results.put))
    task.add_done_callback(lambda _: results.shutdown())
    try:
        with suppress(asyncio.QueueShutDown):
            while True:
                yield await results.get()
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
