"""One endpoint of a service: one client with its connections, made at the first request, and how it has done lately."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from math import inf, log
from typing import TYPE_CHECKING, Self

from shared.errors import SwitchboardError
from shared.outbound.faults import Fault, Reason
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection, ServedModel
from shared.runtime.late_imports import Late

if TYPE_CHECKING:
    import aiohttp

    from shared.outbound.openai_service.sender import Sender
    from shared.outbound.openai_service.window import Window

_REST_SECONDS, _LONGEST_REST_SECONDS = 10.0, 300.0
"""How long an endpoint rests after a fault that names no time; doubled with each further one, up to the second."""
LEAST_PATIENCE_SECONDS = 10.0
"""Least time to wait for a piece of an answer before the endpoint counts as one that hangs."""
OF_THE_REQUEST = frozenset({Reason.FILTERED, Reason.TOO_LONG, Reason.OVERRIDE, Reason.NOT_ACCEPTED})
"""Faults of the request itself: another endpoint would refuse it too."""


class Endpoint:
    """Sends requests to one endpoint.

    Args:
        connection: Which one.
        timeouts: How long to wait for it.
    """

    def __init__(self, connection: OpenAIConnection, timeouts: AnswerTimeouts) -> None:
        self.connection = connection
        self.answers = 0
        """Requests that it has answered."""
        self.rests_until = 0.0
        """Until then requests go to other endpoints first, on the event loop's clock."""
        self.refuses = False
        """Whether the endpoint itself has named that time, and wants no request before it."""
        self._faults = 0
        self._timeouts = timeouts
        self._sender = Late(partial(_make_sender, connection, timeouts))
        self.opened = self._sender.get
        """Returns the client; makes it at the first call. A thread imports what it needs."""
        self._has_model = False

    def distance(self, chat: str) -> float:
        """How far a chat is from this endpoint: new chats begin at the nearest, in the share of the weights.

        A chat has the same distances at every instance (weighted rendezvous hashing). Infinite without a weight.
        """
        if not self.connection.weight:
            return inf
        number = int.from_bytes(sha256(f"{self.connection.base_url} {chat}".encode(errors="replace")).digest()[:7])
        return -log((number + 1) / 2**56) / self.connection.weight

    def asked(self, until: float) -> None:
        """Note that a request is sent to it. After a failure one request tries it; others go elsewhere."""
        if self._faults:
            self.rests_until = min(until, asyncio.get_running_loop().time() + _REST_SECONDS)

    def answered(self) -> None:
        """Note that it has answered, to the end."""
        self.answers += 1
        self._faults, self.rests_until, self.refuses = 0, 0.0, False

    def failed(self, fault: Fault) -> None:
        """Note that it has failed, so that it rests: as long as it asks for, or longer each time."""
        self.refuses = fault.retry_after is not None
        own = min(_REST_SECONDS * 2**self._faults, _LONGEST_REST_SECONDS)
        self._faults = min(self._faults + 1, 10)
        self.rests_until = asyncio.get_running_loop().time() + (own if fault.retry_after is None else fault.retry_after)

    async def post(self, path: str, body: Mapping[str, object], until: float) -> "aiohttp.ClientResponse":
        """Send a request and return the answer as soon as its head is there; the caller reads and closes it.

        Args:
            path: Below the base URL.
            body: What to send: JSON, with an `ImagePart` in the place of each `data:` URL.
            until: The limit, on the event loop's clock.

        Raises:
            Refused, ServiceFault, aiohttp.ClientError, TimeoutError: for `errors.service_errors` to translate.
        """
        async with asyncio.timeout_at(until):
            return await (await self.opened()).post(path, body)

    async def check(self) -> SwitchboardError | None:
        """Check that it answers, takes our credentials and has the model that the settings name.

        Returns:
            What is wrong; None: nothing.
        """
        sender = await self.opened()
        from shared.outbound.openai_service.errors import service_errors
        from shared.outbound.openai_service.served_models import check_model

        try:
            with service_errors(self.connection, self.connection.chat_model):
                await check_model(sender, self.connection, self._timeouts.check, is_known=self._has_model)
        except SwitchboardError as error:
            return error
        self._has_model = True
        return None

    async def window(self, model: ServedModel) -> "Window | None":
        """Ask what the model reads and writes together; None: the service does not say it, or cannot be asked now."""
        sender = await self.opened()
        from shared.outbound.openai_service.errors import SDK
        from shared.outbound.openai_service.window import window_of

        with suppress(*SDK.raises):
            return await window_of(sender, self.connection.base_url, model.name, self._timeouts.check)
        return None

    async def explained(self, fault: Fault, model: ServedModel) -> Fault:
        """Add to the fault of a request what to set instead, in the words of `check`."""
        from shared.outbound.openai_service.served_models import explained

        return await explained(fault, await self.opened(), self.connection, model, self._timeouts.check)

    async def aclose(self) -> None:
        """Close the connections; a later request would open new ones."""
        sender, self._sender.made = self._sender.made, None
        if sender is not None:
            await sender.aclose()


class Answering:
    """Notes how an answer that has begun ends: an endpoint that breaks off or hangs rests like one that refuses.

    Args:
        endpoint: The endpoint that answers.
        deadline: When the whole answer has to be there, on the event loop's clock.
    """

    def __init__(self, endpoint: Endpoint, deadline: float) -> None:
        self.is_complete = False
        """Whether the answer is whole, so that it does not matter how its reader leaves."""
        self.silent_since: float | None = None
        """Since when the next piece is waited for, on the same clock; None: a piece is being used."""
        self._endpoint = endpoint
        self._deadline = deadline
        self._begun = asyncio.get_running_loop().time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        from shared.outbound.openai_service.errors import SDK

        now = asyncio.get_running_loop().time()
        is_late = now >= self._deadline
        if exc is None or (self.is_complete and not isinstance(exc, SDK.raises)):
            self._endpoint.answered()
        elif isinstance(exc, SDK.raises) and not (is_late and isinstance(exc, TimeoutError)):
            if (fault := SDK.fault_of(exc)).reason not in OF_THE_REQUEST:
                self._endpoint.failed(fault)
        elif self.silent_since is not None:
            # The turn ends at its deadline, or its caller leaves: that says something of the endpoint if it was silent.
            longest = (now - self._begun) / 2 if is_late else LEAST_PATIENCE_SECONDS
            if now - self.silent_since >= longest:
                self._endpoint.failed(Fault(Reason.TOO_SLOW))


def _make_sender(connection: OpenAIConnection, timeouts: AnswerTimeouts) -> "Sender":
    from shared.outbound.openai_service.sender import Sender

    return Sender(connection, timeouts)
