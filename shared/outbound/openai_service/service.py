"""One OpenAI-compatible service: one client and one pool of connections, made at the first request."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from shared.late_imports import run_import
from shared.outbound.asking import RetryPolicy
from shared.outbound.faults import Fault
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection, ServedModel

if TYPE_CHECKING:
    import httpx2

    from shared.outbound.openai_service.sender import Sender


class OpenAIService:
    """A client of one service, which chat and embeddings share.

    Args:
        connection: Which service.
        timeouts: How long to wait for it.
        retries: How often to try again.
    """

    def __init__(
        self,
        connection: OpenAIConnection,
        timeouts: AnswerTimeouts | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.connection = connection
        self.timeouts = timeouts or AnswerTimeouts()
        self._retries = retries or RetryPolicy()
        self._opening = asyncio.Lock()
        self._sender: Sender | None = None
        self._has_model = False

    async def post(
        self, path: str, body: Mapping[str, object], *, deadline: float, status_due: float | None = None
    ) -> "httpx2.Response":
        """Send a request and return the answer as soon as its head is there; the caller reads and closes it.

        Faults that may pass by themselves are retried after as long as the service asks for, never past the deadline,
        nor past the time until which the caller's status can report them.

        Args:
            path: Below the base URL.
            body: What to send: JSON, with an `ImagePart` in the place of each `data:` URL.
            deadline: On the event loop's clock, in seconds.
            status_due: As in `RequestContext`.

        Raises:
            openai.OpenAIError, TimeoutError: for `errors.service_errors` to translate.
        """
        async with asyncio.timeout_at(deadline):
            return await (await self.opened()).post(path, body, deadline=deadline, status_due=status_due)

    async def check(self) -> None:
        """Check that the service answers, takes our credentials and has the model that the settings name.

        Raises:
            Unavailable, TooSlow: it does not; the message says what to check.
        """
        sender = await self.opened()
        from shared.outbound.openai_service.errors import service_errors
        from shared.outbound.openai_service.served_models import check_model

        with service_errors(self.connection, self.connection.chat_model):
            await check_model(sender, self.connection, self.timeouts.check, is_known=self._has_model)
        self._has_model = True

    async def explained(self, fault: Fault, model: ServedModel) -> Fault:
        """Add to the fault of a request what to set instead, in the words of `check`."""
        from shared.outbound.openai_service.served_models import explained

        return await explained(fault, await self.opened(), self.connection, model, self.timeouts.check)

    async def opened(self) -> "Sender":
        """Make the client, at the first call. Importing the SDK takes most of a second, so a thread does that."""
        async with self._opening:
            if self._sender is None:
                self._sender = await run_import(_make_sender, self.connection, self.timeouts, self._retries)
            return self._sender

    async def aclose(self) -> None:
        """Close the connections; a later request would open new ones."""
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.aclose()


def _make_sender(connection: OpenAIConnection, timeouts: AnswerTimeouts, retries: RetryPolicy) -> "Sender":
    from shared.outbound.openai_service.sender import Sender

    return Sender(connection, timeouts, retries)
