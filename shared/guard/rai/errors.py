"""What goes wrong with the RAI service, and what the caller is told: the one table. Imports `grpc`: import it late.

The service's own text goes nowhere: it may quote what was analysed.
"""

from dataclasses import dataclass

from grpc import StatusCode

from shared.errors import BadRequest, NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable


@dataclass(frozen=True, slots=True)
class Telling:
    """How one kind of fault is told."""

    kind: type[SwitchboardError]
    """As which error."""
    sentence: str
    """In which words."""

    def error(self) -> SwitchboardError:
        """The error."""
        return self.kind(self.sentence)


UNREACHABLE = Telling(
    Unavailable,
    "The safety service cannot be reached. Try again later; if it stays, check RAI_ENDPOINT and the network.",
)
TOO_SLOW = Telling(TooSlow, "The safety service took too long. Try again later.")
ENDED = Telling(Unavailable, "The safety service ended the analysis early. Try again later.")
NONSENSE = Telling(
    Unavailable,
    "The safety service sent something that is no result of an analysis. If it stays, check RAI_ENDPOINT.",
)
_BROKEN = Telling(Unavailable, "The safety service has a fault of its own. Try again later.")
_REFUSED = Telling(
    Unavailable,
    "The safety service refused this app: check that the app's identity has the role 'Cognitive Services User' on the "
    "resource of RAI_ENDPOINT.",
)
_NOT_ACCEPTED = Telling(
    BadRequest,
    "The safety service does not accept what it was sent: check the payload, and the policy that RAI_POLICY names.",
)

ERRORS: dict[StatusCode, Telling] = {
    # All went well, says the service, where an answer was still due.
    StatusCode.OK: ENDED,
    StatusCode.CANCELLED: ENDED,
    StatusCode.UNKNOWN: _BROKEN,
    StatusCode.INVALID_ARGUMENT: _NOT_ACCEPTED,
    StatusCode.DEADLINE_EXCEEDED: TOO_SLOW,
    StatusCode.NOT_FOUND: Telling(NotConfigured, "The safety service knows no such policy: check RAI_POLICY."),
    StatusCode.ALREADY_EXISTS: _BROKEN,
    StatusCode.PERMISSION_DENIED: _REFUSED,
    StatusCode.RESOURCE_EXHAUSTED: Telling(RateLimited, "The safety service is busy. Try again in 10 seconds."),
    StatusCode.FAILED_PRECONDITION: _NOT_ACCEPTED,
    StatusCode.ABORTED: ENDED,
    StatusCode.OUT_OF_RANGE: _NOT_ACCEPTED,
    StatusCode.UNIMPLEMENTED: Telling(
        NotConfigured, "What answers at RAI_ENDPOINT is not the RAI service: check RAI_ENDPOINT."
    ),
    StatusCode.INTERNAL: _BROKEN,
    StatusCode.UNAVAILABLE: UNREACHABLE,
    StatusCode.DATA_LOSS: _BROKEN,
    StatusCode.UNAUTHENTICATED: _REFUSED,
}
"""By the status that ends a stream."""
