"""A resource of Azure's AI services: Content Safety and the like. Imports `azure.core`: import it late."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from shared.errors import BadRequest, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.outbound.azure_service.asking import RetryPolicy, ask
from shared.outbound.azure_service.faults import Fault, Reason, Sentences

SENTENCES: Sentences = {
    Reason.UNREACHABLE: (
        Unavailable,
        "{name} cannot be reached. Try again later; if it stays, check {settings}_ENDPOINT.",
    ),
    Reason.CUT_OFF: (Unavailable, "{name} broke off. Try again."),
    Reason.TOO_SLOW: (TooSlow, "{name} took too long. Try again."),
    Reason.NO_IDENTITY: (
        Unavailable,
        (
            "The app cannot sign in to {name}: give it a managed identity with the role 'Cognitive Services User', "
            "sign in with `az login` locally, or set {settings}_API_KEY."
        ),
    ),
    Reason.CREDENTIALS: (
        Unavailable,
        (
            "{name} refused this app: check {settings}_API_KEY, or give the app's identity the role 'Cognitive "
            "Services User'."
        ),
    ),
    Reason.NOT_THERE: (Unavailable, "There is no {name} at {settings}_ENDPOINT: check it."),
    Reason.NOT_AN_ANSWER: (Unavailable, "What is at {settings}_ENDPOINT sent something that is no result of {name}."),
    Reason.NOT_ACCEPTED: (BadRequest, "{name} does not accept {sent}."),
    Reason.RATE: (RateLimited, "{name} is busy. Try again in {retry_after} seconds."),
    Reason.BUSY: (Unavailable, "{name} has too much to do. Try again later."),
    Reason.BROKEN: (Unavailable, "{name} has a fault of its own. Try again later."),
}
"""What the caller is told."""

_PATIENCE = RetryPolicy(retries=3, first_backoff=0.25)


@dataclass(frozen=True, slots=True)
class AIService:
    """How a service is asked, and how its faults are told."""

    name: str
    """What people call it."""
    settings: str
    """How the names of its settings begin: `…_ENDPOINT`, `…_API_KEY`."""
    sent: str
    """What it is sent, and what to do where it does not accept that."""
    patience: RetryPolicy = _PATIENCE
    """How long to wait for it."""

    async def ask[Answer](
        self, call: Callable[[], Awaitable[Answer]], *, deadline: float, invocation_id: str | None = None
    ) -> Answer:
        """Make a call of an SDK, again where a second try may help.

        Args:
            call: Begins it.
            deadline: When the answer must be there, on the event loop's clock, in seconds.
            invocation_id: For the log.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no answer; says what to do.
        """
        service = f"{self.name}, invocation {invocation_id}" if invocation_id else self.name
        return await ask(call, deadline=deadline, patience=self.patience, told=self._told, service=service)

    def _told(self, fault: Fault) -> SwitchboardError:
        return fault.to_error(SENTENCES, name=self.name, settings=self.settings, sent=self.sent)
