"""Traces: one span for each turn, and under it one for each search, model call, safety check and agent; and metrics.

Both are off by default: then `Service.tracing` is None, and only this module of the package is imported. `otel` makes
the spans, of which `metrics` makes metrics; `exporting` sends them to Application Insights or to an OpenTelemetry
collector. No span holds what users said or what documents say, unless `TELEMETRY_CONTENT` is set.
"""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Protocol

from shared.chat_types import ChatRequest, RequestContext
from shared.errors import SwitchboardError
from shared.events import ChatEvent, Usage

type RecordMessage = Callable[[Usage | None, SwitchboardError | None], None]
"""Records the tokens of an agent's message, and its error if it failed."""
type Watch = Callable[[str], AbstractContextManager[RecordMessage]]
"""Makes a block in which the agent of this name makes a message."""

type WatchCall = Callable[[str, str, str], AbstractContextManager[Callable[[str, str], None]]]
"""Makes a block in which a tool of a server is called, by its name, the call's id and the arguments. The block gets a
function that records the status and the result."""


class Tracing(Protocol):
    """Records turns and agents."""

    def turn(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, workflow: str
    ) -> AsyncGenerator[ChatEvent]:
        """Pass on a turn's events as they come, and record them in a span, which ends with the last event or an error.

        Args:
            events: The turn; spans of the work that it does become children of its span.
            request: The question, with its conversation.
            context: The request's; if it has a `trace_parent`, the span belongs to that trace.
            workflow: `chat` or `team`.
        """
        ...

    def agent(self, name: str) -> AbstractContextManager[RecordMessage]:
        """Make a block in which an agent makes a message; the block has a span of its own."""
        ...

    def call(self, tool: str, call_id: str, arguments: str) -> AbstractContextManager[Callable[[str, str], None]]:
        """Make a block in which a tool of a server is called; the block has a span of its own."""
        ...

    def waited(self, queue: str, since: datetime | None) -> None:
        """Record that a message has been in a queue since then; None, which is not known, records nothing."""
        ...


@contextmanager
def unwatched(_agent: str) -> Generator[RecordMessage]:
    """A `Watch` that records nothing."""
    yield lambda _usage, _error: None


@contextmanager
def unwatched_call(_tool: str, _call_id: str, _arguments: str) -> Generator[Callable[[str, str], None]]:
    """A `WatchCall` that records nothing."""
    yield lambda _status, _result: None
