"""A lane is the line of reports on one agent: whether it waits, thinks, searches, calls a tool, writes or is done.

Reports are sent only if the request asks for them (`show_progress`). The playground draws a lane as a bar over time.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Literal

from shared.errors import SwitchboardError
from shared.events import AgentWork, Usage


class Lane:
    """Reports what one agent does, as it begins to do it; does nothing without `show_progress`.

    Args:
        agent: Name of the agent.
        put: Sends a report; None without `show_progress`.
    """

    def __init__(self, agent: str, put: Callable[[AgentWork], Awaitable[None]] | None) -> None:
        self._agent = agent
        self.put = put
        """Sends a report; None without `show_progress`, and before the turn begins."""
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
        """Report what the agent does now."""
        if self.put:
            await self.put(AgentWork(self._agent, state, query=query, tool=tool))

    async def end(
        self, usage: Usage | None, error: SwitchboardError | None = None, *, handed_to: str | None = None
    ) -> None:
        """Report how the agent's message ended, its tokens, and its time since `begin`."""
        if self.put:
            work = AgentWork(
                self._agent,
                "failed" if error else "handed_over" if handed_to else "done",
                to=handed_to,
                usage=usage,
                milliseconds=(time.monotonic() - self._began) * 1000,
                error=error.code if error else None,
            )
            await self.put(work)
