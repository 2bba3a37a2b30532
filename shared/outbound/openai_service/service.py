"""A service of models at one endpoint or several, which chat and embeddings share."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable

from shared.errors import SwitchboardError
from shared.outbound.asking import RetryPolicy, described, with_retries
from shared.outbound.faults import RETRIED, Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection, ServedModel
from shared.outbound.openai_service.endpoint import LEAST_PATIENCE_SECONDS, OF_THE_REQUEST, Endpoint

type Attempt[Answer] = Callable[[Endpoint, float], Awaitable[Answer]]
"""Asks one endpoint, until a time on the event loop's clock; when it raises, it has left that endpoint. It calls
`Endpoint.answered` once the answer is whole, or whoever reads the rest of the answer does."""

_MOST_PATIENCE_SECONDS = 120.0
"""Longest time to wait for an endpoint before another one is asked."""

_log = logging.getLogger("switchboard.openai")


class OpenAIService:
    """Asks the endpoints of a service, one after another until one answers.

    Args:
        connections: The endpoints, in the order of the settings.
        timeouts: How long to wait for each.
        retries: How often to ask all of them again.
    """

    def __init__(
        self,
        *connections: OpenAIConnection,
        timeouts: AnswerTimeouts | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.connection = connections[0]
        self.timeouts = timeouts or AnswerTimeouts()
        self.endpoints = tuple(Endpoint(connection, self.timeouts) for connection in connections)
        self.opened = self.endpoints[0].opened
        """Makes the client of the first endpoint, and imports what all endpoints need."""
        self._hosts = ", ".join(connection.host for connection in connections)
        self._retries = retries or RetryPolicy()
        self._patience: defaultdict[str, float] = defaultdict(lambda: LEAST_PATIENCE_SECONDS)

    @property
    def is_spread(self) -> bool:
        """Whether there is more than one endpoint."""
        return len(self.endpoints) > 1

    async def ask[Answer](
        self,
        attempt: Attempt[Answer],
        model: ServedModel,
        *,
        deadline: float,
        chat: str = "",
        status_due: float | None = None,
        invocation_id: str | None = None,
    ) -> Answer:
        """Ask the endpoints in their order for a chat, the next one if one fails, and never two at the same time.

        An endpoint that has failed rests: it is asked after the others, and not at all before the end of the time that
        it asked for. If all fail, they are asked again where that may help, never past the deadline, nor past the time
        until which the caller's status can report it.

        Args:
            attempt: Asks one endpoint.
            model: The model that is asked for.
            deadline: When the answer has to have begun, on the event loop's clock.
            chat: What the turns of a chat have in common, so that they are asked of the same endpoint.
            status_due: As in `RequestContext`.
            invocation_id: The request's id, for the log.

        Raises:
            RateLimited, ContentFiltered, BadRequest, Unavailable, TooSlow: by the table in `outbound.faults`.
        """
        await self.opened()
        from shared.outbound.openai_service.errors import SDK, service_errors

        last = self.endpoints[0]

        async def once() -> Answer:
            nonlocal last
            failed: list[tuple[Endpoint, Exception]] = []
            turn = self._turn(chat)
            for left, endpoint in zip(range(len(turn), 0, -1), turn, strict=True):
                last, begun = endpoint, asyncio.get_running_loop().time()
                patience = min(self._patience[model.name], (deadline - begun) / left)
                until = deadline if left == 1 else begun + patience
                endpoint.asked(until)
                try:
                    answer = await attempt(endpoint, until)
                except SDK.raises as exc:
                    fault = SDK.fault_of(exc)
                    if not self.is_spread or fault.reason in OF_THE_REQUEST:
                        raise
                    endpoint.failed(fault)
                    failed.append((endpoint, exc))
                    if left > 1:
                        _log.warning(
                            "%s; asking another", described(exc, fault, endpoint.connection.host, invocation_id)
                        )
                else:
                    self._note(endpoint, model, begun, invocation_id)
                    return answer
            last, soonest = min(failed, key=lambda one: _wait(SDK.fault_of(one[1])))
            raise soonest

        try:
            return await with_retries(
                once, SDK, self._retries, deadline=deadline, service=self._hosts, status_due=status_due
            )
        except SDK.raises:
            with service_errors(last.connection, model, invocation_id):
                raise

    async def check(self) -> list[SwitchboardError | None]:
        """Check each endpoint; return what is wrong with it."""
        return await asyncio.gather(*(endpoint.check() for endpoint in self.endpoints))

    async def aclose(self) -> None:
        """Close the connections; a later request would open new ones."""
        for endpoint in self.endpoints:
            await endpoint.aclose()

    def _turn(self, chat: str) -> list[Endpoint]:
        """The endpoints to ask, in order; raise ServiceFault if all have asked not to be asked now."""
        if not self.is_spread:
            return [*self.endpoints]
        now = asyncio.get_running_loop().time()
        usual = sorted(self.endpoints, key=lambda endpoint: endpoint.distance(chat))
        turn = [endpoint for endpoint in usual if not (endpoint.refuses and now < endpoint.rests_until)]
        if not turn:
            raise ServiceFault(Fault(Reason.RATE, retry_after=min(one.rests_until for one in usual) - now))
        return sorted(turn, key=lambda endpoint: endpoint.rests_until if now < endpoint.rests_until else 0.0)

    def _note(self, endpoint: Endpoint, model: ServedModel, begun: float, invocation_id: str | None) -> None:
        """Note who answers, and how long that took: a model that thinks long is not taken for one that hangs."""
        if self.is_spread:
            seconds = asyncio.get_running_loop().time() - begun
            self._patience[model.name] = max(
                LEAST_PATIENCE_SECONDS, min(3 * seconds, _MOST_PATIENCE_SECONDS), 0.9 * self._patience[model.name]
            )
            _log.info("%s answers, invocation %s", endpoint.connection.host, invocation_id)


def _wait(fault: Fault) -> float:
    """How soon it may help to ask again, in seconds."""
    if fault.retry_after is not None:
        return fault.retry_after
    return 0.0 if fault.reason in RETRIED else float("inf")
