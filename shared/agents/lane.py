"""Reports what one agent does, if the request asks for it (`show_progress`): the page shows it as the agent's lane."""

import time
from collections.abc import Awaitable, Callable
from typing import Literal

from shared.errors import SwitchboardError
from shared.events import AgentWork, Progress, Usage


class Lane:
    """Reports what one agent does, as it begins to do it; does nothing if the request does not ask.

    Args:
        agent: Name of the agent.
        put: Sends a report; None: the request does not ask.
    """

    def __init__(self, agent: str, put: Callable[[Progress], Awaitable[None]] | None) -> None:
        self._agent = agent
        self.put = put
        """Sends a report; None: the request does not ask, or the turn has not begun."""
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
            await self.put(Progress(AgentWork(self._agent, state, query=query, tool=tool)))

    async def end(
        self, usage: Usage | None, error: SwitchboardError | None = None, *, handed_to: str | None = None
    ) -> None:
        """Report how the message ended that `begin` began, and what it cost."""
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
