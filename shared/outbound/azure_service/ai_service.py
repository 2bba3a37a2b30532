"""Azure's AI services: Content Safety, Vision, Document Intelligence. Imports `azure.core`: import it late."""

from collections.abc import Awaitable, Callable

from shared.errors import BadRequest
from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.asking import ask
from shared.outbound.faults import ErrorTable, Reason

SENTENCES = {
    Reason.NO_IDENTITY: (
        "The app cannot sign in to {name}: give it a managed identity with the role 'Cognitive Services User', "
        "sign in with `az login` locally, or set {settings}_API_KEY."
    ),
    Reason.CREDENTIALS: (
        "{name} refused this app: check {settings}_API_KEY, or give the app's identity the role 'Cognitive Services "
        "User'."
    ),
    Reason.NOT_AN_ANSWER: "What is at {address} sent something that is no result of {name}.",
    Reason.NOT_ACCEPTED: "{name} does not accept {sent}.",
}
"""What these services say differently from `faults.DEFAULTS`."""

_POLICY = RetryPolicy(retries=3, first_backoff=0.25)


class AIService:
    """One of the services.

    Args:
        name: The service's name, for sentences and the log.
        settings: The prefix of its settings: `…_ENDPOINT`, `…_API_KEY`.
        sent: What it is sent, and what to do where it does not accept that; for a sentence.
        policy: How often to try, and after which waits.
    """

    def __init__(self, name: str, settings: str, sent: str, policy: RetryPolicy = _POLICY) -> None:
        self._errors = ErrorTable(name, f"{settings}_ENDPOINT", SENTENCES, {Reason.NOT_ACCEPTED: BadRequest})
        self._words = {"settings": settings, "sent": sent}
        self._policy = policy

    async def ask[Answer](
        self, call: Callable[[], Awaitable[Answer]], *, deadline: float, invocation_id: str | None = None
    ) -> Answer:
        """Make a call of an SDK, again where a second try may help.

        Args:
            call: Makes the request.
            deadline: When the answer must be there, on the event loop's clock, in seconds.
            invocation_id: The request's id, for the log.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no answer; says what to do.
        """
        return await ask(
            call,
            lambda fault: self._errors.error(fault, **self._words),
            self._policy,
            deadline=deadline,
            service=self._errors.name,
            invocation_id=invocation_id,
        )
