"""Traces: one span for each turn, and under it one for each search, model call, safety check and agent.

Off by default: then there is no `Tracing`, and nothing of this package but this module is imported. `otel` has the one
implementation; `exporting` sends what it notes to Application Insights, or to any OpenTelemetry collector. What a user
said is in no span unless `TELEMETRY_CONTENT` asks for it.
"""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from shared.chat_types import ChatRequest, RequestContext
from shared.errors import SwitchboardError
from shared.events import ChatEvent, Usage

type Telling = Callable[[Usage | None, SwitchboardError | None], None]
"""Takes what an agent's message cost, and what it failed with."""
type Watch = Callable[[str], AbstractContextManager[Telling]]
"""Watches the agent of this name while it makes a message."""


class Tracing(Protocol):
    """Notes what happens in turns."""

    def turn(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, workflow: str
    ) -> AsyncGenerator[ChatEvent]:
        """Pass on a turn's events as they come; its span ends when they do, however that is.

        Args:
            events: What is noted, and what everything that it does belongs to.
            request: What is asked.
            context: The request's; the caller's trace goes on if it names one.
            workflow: What answers: `chat` or `team`.
        """
        ...

    def agent(self, name: str) -> AbstractContextManager[Telling]:
        """Watch an agent while it makes a message."""
        ...


@contextmanager
def unwatched(_agent: str) -> Generator[Telling]:
    """A `Watch` that notes nothing."""
    yield lambda _usage, _error: None
