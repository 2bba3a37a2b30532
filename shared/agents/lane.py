"""News of one agent's work, for a request that asks for them (`show_progress`)."""

import time
from collections.abc import Awaitable, Callable
from typing import Literal

from shared.errors import SwitchboardError
from shared.events import AgentWork, Progress, Usage


class Lane:
    """Tells what one agent does, as it begins to do it; does nothing where nobody asked.

    Args:
        agent: Name of the agent.
        put: Takes the news; None: nobody asked.
    """

    def __init__(self, agent: str, put: Callable[[Progress], Awaitable[None]] | None) -> None:
        self._agent = agent
        self.put = put
        """Takes the news; None: nobody asked, or nobody is there yet."""
        self._began = 0.0

    def begin(self) -> None:
        """Start the clock of a message."""
        self._began = time.monotonic()

    async def tell(
        self,
        state: Literal["waiting", "thinking", "searching", "calling", "writing"],
        *,
        query: str | None = None,
        tool: str | None = None,
    ) -> None:
        """Tell what the agent does now."""
        if self.put:
            await self.put(Progress(AgentWork(self._agent, state, query=query, tool=tool)))

    async def end(
        self, usage: Usage | None, error: SwitchboardError | None = None, *, handed_to: str | None = None
    ) -> None:
        """Tell how the message ended that `begin` began, and what it cost."""
        if self.put:
            work = AgentWork(
                self._agent,
                "failed" if error else "handed_over" if handed_to else "done",
                to=handed_to,
                usage=usage,
                milliseconds=(time.monotonic() - self._began) * 1000,
                error=error.code if error else None,
            )
            await self.put(Progress(work))
