"""Counts a request in the budget of its caller."""

from ipaddress import IPv6Address, ip_address

from starlette.requests import Request
from starlette.responses import Response

from shared.budgets.ledger import Admission
from shared.chat_types import Caller
from shared.service import Service

_SUBSCRIBER_BITS = 64
"""Leading bits of an IPv6 address that identify a subscriber, who can use all addresses with them (RFC 6177)."""


def admit(request: Request, service: Service, key: str, *, spends: bool = True) -> None:
    """Count the request in its caller's budget, if limits are set.

    Args:
        request: The request.
        service: The parts of the app.
        key: The key of the caller's budget, of `key_of`.
        spends: Whether it spends tokens. If not, what is left of them does not matter.

    Raises:
        RateLimited: the caller, or all callers together, have reached a limit.
    """
    if service.ledger is None:
        return
    admission = service.ledger.admit(key, spends=spends)
    request.state.admission = admission
    if admission.refusal:
        raise admission.refusal


def show_limits(request: Request, response: Response) -> Response:
    """Add the rate limit headers to a response, if its request was counted."""
    admission: Admission | None = getattr(request.state, "admission", None)
    if admission:
        response.headers.update(admission.headers())
    return response


def key_of(request: Request, service: Service, caller: Caller) -> str:
    """Return the key that tells the caller of a request from others."""
    return caller_key(caller, address_of(request, service.settings.address_header))


def caller_key(caller: Caller, address: str) -> str:
    """Return the key of a caller's budget: the user or the API key if signed in, else the address."""
    return caller.id or f"address:{address}"


def address_of(request: Request, header: str | None) -> str:
    """Return the address of the caller; empty if unknown, so that all such requests share a budget.

    Args:
        request: The request.
        header: The one that what is in front of the app writes, or appends to: what is before the last entry may come
            from the caller. The Functions host replaces `X-Forwarded-For` by one entry, and passes on other headers.
            If the request lacks it, and without any, it is the other end of the connection.
    """
    entries = ",".join(request.headers.getlist(header or "")).split(",")
    said = entries[-1].strip() if any(entries) else request.client.host if request.client else ""
    for text in (said, said.rpartition(":")[0].strip("[]"), said.strip("[]")):  # with a port, or without
        try:
            address = ip_address(text)
        except ValueError:
            continue
        if isinstance(address, IPv6Address):
            if address.ipv4_mapped:
                return str(address.ipv4_mapped)
            return f"{IPv6Address(int(address) >> _SUBSCRIBER_BITS << _SUBSCRIBER_BITS)}/{_SUBSCRIBER_BITS}"
        return str(address)
    return ""
