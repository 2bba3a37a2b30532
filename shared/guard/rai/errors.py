"""Errors of the RAI service, by the status that ends a stream of gRPC. Imports `grpc`: import it late.

The service's own text goes nowhere: it may quote what was analysed.
"""

from collections.abc import Mapping

from grpc import StatusCode

from shared.errors import BadRequest, NotConfigured
from shared.outbound.faults import ErrorTable, Reason

ERRORS = ErrorTable(
    "The safety service",
    "RAI_ENDPOINT and the network",
    {
        Reason.TOO_SLOW: "{name} took too long. Try again later.",
        Reason.CUT_OFF: "{name} ended the analysis early. Try again later.",
        Reason.NOT_AN_ANSWER: (
            "{name} sent something that is no result of an analysis. If it stays, check RAI_ENDPOINT."
        ),
        Reason.NO_IDENTITY: (
            "The app cannot sign in to the safety service: give it a managed identity, or sign in with `az login` "
            "locally."
        ),
        Reason.CREDENTIALS: (
            "{name} refused this app: check that the app's identity has the role 'Cognitive Services User' on the "
            "resource of RAI_ENDPOINT."
        ),
        Reason.NOT_ACCEPTED: (
            "{name} does not accept what it was sent: check the payload, and the policy that RAI_POLICY names."
        ),
        Reason.NOT_THERE: "{name} knows no such policy: check RAI_POLICY.",
        Reason.WRONG_SERVICE: "What answers at RAI_ENDPOINT is not the RAI service: check RAI_ENDPOINT.",
    },
    {Reason.NOT_ACCEPTED: BadRequest, Reason.NOT_THERE: NotConfigured},
)
"""What differs from `outbound.faults.DEFAULTS`."""

REASONS: Mapping[StatusCode, Reason] = {
    # All went well, says the service, where an answer was still due.
    StatusCode.OK: Reason.CUT_OFF,
    StatusCode.CANCELLED: Reason.CUT_OFF,
    StatusCode.UNKNOWN: Reason.BROKEN,
    StatusCode.INVALID_ARGUMENT: Reason.NOT_ACCEPTED,
    StatusCode.DEADLINE_EXCEEDED: Reason.TOO_SLOW,
    StatusCode.NOT_FOUND: Reason.NOT_THERE,
    StatusCode.ALREADY_EXISTS: Reason.BROKEN,
    StatusCode.PERMISSION_DENIED: Reason.CREDENTIALS,
    StatusCode.RESOURCE_EXHAUSTED: Reason.RATE,
    StatusCode.FAILED_PRECONDITION: Reason.NOT_ACCEPTED,
    StatusCode.ABORTED: Reason.CUT_OFF,
    StatusCode.OUT_OF_RANGE: Reason.NOT_ACCEPTED,
    StatusCode.UNIMPLEMENTED: Reason.WRONG_SERVICE,
    StatusCode.INTERNAL: Reason.BROKEN,
    StatusCode.UNAVAILABLE: Reason.UNREACHABLE,
    StatusCode.DATA_LOSS: Reason.BROKEN,
    StatusCode.UNAUTHENTICATED: Reason.CREDENTIALS,
}
"""The reason of each status."""
