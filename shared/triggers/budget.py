"""Counts a request in the budget of its caller, before its body is read."""

from azurefunctions.extensions.http.fastapi import Request, Response

from shared.budgets.callers import FORWARDED, address_of, caller_key
from shared.budgets.ledger import Admission
from shared.chat_types import Caller
from shared.service import Service


def admit(request: Request, service: Service, caller: Caller) -> Admission | None:
    """Count the request; None where nothing is counted.

    Raises:
        RateLimited: the caller, or all together, have used up a limit.
    """
    if service.ledger is None:
        return None
    peer = request.client.host if request.client else ""
    address = address_of(request.headers.getlist(FORWARDED), peer, in_azure=service.settings.in_azure)
    admission = service.ledger.admit(caller_key(caller, address))
    request.state.admission = admission
    if admission.refusal:
        raise admission.refusal
    return admission


def show_limits(request: Request, response: Response) -> Response:
    """Add to an answer what is left of the limits, if the request was counted."""
    admission: Admission | None = getattr(request.state, "admission", None)
    if admission:
        response.headers.update(admission.headers())
    return response
