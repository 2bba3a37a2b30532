"""Asking services of Azure through `azure.core`, and the reasons of its exceptions. Imports it: import it late."""

import logging
from collections.abc import Awaitable, Callable
from copy import replace

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    DecodeError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

from shared.errors import SwitchboardError
from shared.outbound.asking import RetryPolicy, Sdk, translated, with_retries
from shared.outbound.faults import Fault, Reason, ServiceFault, reason_of_status, retry_after_of

# Of an error that is none of the service's the SDKs log a trace, which may quote it.
for _sdk in ("azure.ai", "azure.search"):
    logging.getLogger(_sdk).setLevel(logging.ERROR)

BY_CLASS: dict[type[BaseException], Reason] = {
    ClientAuthenticationError: Reason.NO_IDENTITY,
    ServiceRequestError: Reason.UNREACHABLE,
    ServiceResponseError: Reason.CUT_OFF,
    ServiceResponseTimeoutError: Reason.TOO_SLOW,
    IncompleteReadError: Reason.CUT_OFF,
    DecodeError: Reason.NOT_AN_ANSWER,
    AzureError: Reason.BROKEN,
    TimeoutError: Reason.TOO_SLOW,
    # The SDKs raise these for an answer that is no object, not of the kind that they expect, or nested too deep.
    AttributeError: Reason.NOT_AN_ANSWER,
    LookupError: Reason.NOT_AN_ANSWER,
    RecursionError: Reason.NOT_AN_ANSWER,
    TypeError: Reason.NOT_AN_ANSWER,
    ValueError: Reason.NOT_AN_ANSWER,
}
"""The reason of an exception without a status; the nearest class counts."""


def fault_of(exc: BaseException) -> Fault:
    """Find what went wrong: from the status where there is one, else from the nearest class."""
    if isinstance(exc, ServiceFault):
        return exc.fault
    status = exc.status_code if isinstance(exc, HttpResponseError) else None
    # Where the app could not sign in, the status is that of the directory.
    elsewhere = isinstance(exc, ClientAuthenticationError) and status != 401
    if status is None or status < 300 or elsewhere:
        return Fault(next(BY_CLASS[kind] for kind in type(exc).__mro__ if kind in BY_CLASS))
    headers = getattr(getattr(exc, "response", None), "headers", {})
    return Fault(reason_of_status(status), status, retry_after_of(headers))


_ANY = Sdk(
    (ServiceFault, AzureError, TimeoutError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    fault_of,
    logging.getLogger("switchboard.azure"),
)
STORAGE = replace(_ANY, raises=(AzureError,))
"""The SDKs of blobs and tables: what else is raised while they are used is not theirs."""


async def ask[Answer](
    call: Callable[[], Awaitable[Answer]],
    to_error: Callable[[Fault], SwitchboardError],
    policy: RetryPolicy,
    *,
    deadline: float,
    service: str,
    invocation_id: str | None = None,
) -> Answer:
    """Make a call of an SDK, again where a second try may help: all that is asked here can be asked twice.

    Args:
        call: Makes the request.
        to_error: Makes the caller's error of a fault.
        policy: How often to try, and after which waits.
        deadline: When the answer must be there, on the event loop's clock, in seconds.
        service: The service's name, for the log.
        invocation_id: The request's id, for the log.

    Raises:
        SwitchboardError: there is no answer.
    """
    with translated(_ANY, to_error, service, invocation_id):
        return await with_retries(call, _ANY, policy, deadline=deadline, service=service)
