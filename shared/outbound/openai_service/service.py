"""One OpenAI-compatible service: one client and one pool of connections, made at the first request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.chat_types import Json
from shared.late_imports import run_import
from shared.outbound.openai_service.connection import OpenAIConnection

if TYPE_CHECKING:
    import httpx2

    from shared.outbound.openai_service.sender import Sender


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait for a service, in seconds."""

    connect: float = 5.0
    """For a connection."""
    first: float = 120.0
    """For the first piece of an answer: some models are loaded first, others think first."""
    between: float = 30.0
    """For each further piece."""
    ending: float = 5.0
    """For what may follow the finish reason: the usage."""
    retries: int = 2
    """How often a request is sent again."""
    longest_wait: float = 20.0
    """The longest `Retry-After` to sit out; the caller decides about longer ones."""
    check: float = 3.0
    """For the answer to a health check."""


class OpenAIService:
    """A client of one service, which chat and embeddings share: closing either closes it for both, at the end."""

    def __init__(self, connection: OpenAIConnection, patience: RetryPolicy | None = None) -> None:
        self.connection = connection
        self.patience = patience or RetryPolicy()
        self._opening = asyncio.Lock()
        self._sender: Sender | None = None

    async def post(self, path: str, body: Mapping[str, Json], *, deadline: float) -> "httpx2.Response":
        """Send a request and return the answer as soon as its head is there; the caller reads and closes it.

        Faults that may pass by themselves are retried after as long as the service asks for, never past the deadline.

        Args:
            path: below the base URL.
            body: what to send, as JSON.
            deadline: on the event loop's clock, in seconds.

        Raises:
            openai.OpenAIError, TimeoutError: for `errors.translated` to translate.
        """
        async with asyncio.timeout_at(deadline):
            return await (await self.opened()).post(path, body, deadline=deadline)

    async def list_models(self) -> None:
        """Ask for the models, once and with little patience: is the service there, does it know our credentials?

        Raises:
            openai.OpenAIError, TimeoutError: for `errors.translated` to translate.
        """
        sender = await self.opened()
        async with asyncio.timeout(self.patience.check):
            await sender.get("/models")

    async def opened(self) -> "Sender":
        """Make the client, at the first call. Importing the SDK takes most of a second, so a thread does that."""
        async with self._opening:
            if self._sender is None:
                self._sender = await run_import(_make_sender, self.connection, self.patience)
            return self._sender

    async def aclose(self) -> None:
        """Close the connections, once; a later request would open new ones."""
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.aclose()


def _make_sender(connection: OpenAIConnection, patience: RetryPolicy) -> "Sender":
    from shared.outbound.openai_service.sender import Sender

    return Sender(connection, patience)
