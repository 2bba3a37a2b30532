"""What a request may use: it counts in the budget of its caller, and its question and prompts have limits."""

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address

from azurefunctions.extensions.http.fastapi import Request, Response

from shared.budgets.ledger import Admission
from shared.chat_types import Caller, ChatRequest, Role
from shared.core.context_window import tokens_in
from shared.errors import BadRequest, NotAllowed, TooLarge
from shared.service import Service
from shared.settings import Settings

FORWARDED = "x-forwarded-for"
"""Header to which Azure's front end appends the client's address; the entries before it come from the caller.

Sources: Azure Functions host, which changes nothing of it; App Service, 'client IP address'."""
_SUBSCRIBER_BITS = 64
"""Leading bits of an IPv6 address that identify a subscriber, who can use all addresses with them (RFC 6177)."""


def admit(request: Request, service: Service, caller: Caller) -> Admission | None:
    """Count the request in its caller's budget; return None if no limits are set.

    Raises:
        RateLimited: the caller, or all callers together, have reached a limit.
    """
    if service.ledger is None:
        return None
    admission = service.ledger.admit(key_of(request, service, caller))
    request.state.admission = admission
    if admission.refusal:
        raise admission.refusal
    return admission


def show_limits(request: Request, response: Response) -> Response:
    """Add the rate limit headers to a response, if its request was counted."""
    admission: Admission | None = getattr(request.state, "admission", None)
    if admission:
        response.headers.update(admission.headers())
    return response


def key_of(request: Request, service: Service, caller: Caller) -> str:
    """Return the key that tells the caller of a request from others."""
    peer = request.client.host if request.client else ""
    address = address_of(request.headers.getlist(FORWARDED), peer, in_azure=service.settings.in_azure)
    return caller_key(caller, address)


def caller_key(caller: Caller, address: str) -> str:
    """Return the key of a caller's budget: the user or the API key if signed in, else the address."""
    return caller.id or f"address:{address}"


def address_of(forwarded: Sequence[str], peer: str, *, in_azure: bool) -> str:
    """Return the address of the client; empty if unknown, so that all such requests share a budget.

    Args:
        forwarded: The values of the header `FORWARDED`, in order.
        peer: The remote address of the connection; in Azure it is the platform's.
        in_azure: Whether the app runs in Azure, which appends to that header. Elsewhere it is ignored, since a caller
            may have written all of it.
    """
    said = ",".join(forwarded).rpartition(",")[2].strip() if in_azure else peer
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


def check_request(request: ChatRequest, settings: Settings) -> None:
    """Check a request before anything is done for it.

    Raises:
        TooLarge: its question is too long.
        NotAllowed: it brings a system prompt, and callers may bring none here.
        BadRequest: it chooses a pattern for the team, and there is no playground.
    """
    most = settings.chat_max_question_tokens
    if (count := tokens_in(request.question)) > most:
        raise TooLarge(
            f"The question takes some {count:,} tokens, and this app takes {most:,} (CHAT_MAX_QUESTION_TOKENS): "
            "shorten it."
        )
    if not settings.callers_may_prompt and _brings_prompt(request):
        raise NotAllowed(
            "Callers may not change the system prompt here (CHAT_CALLER_PROMPTS): leave out prompt_template and "
            "messages with the role 'system'."
        )
    if request.overrides.team_pattern and not settings.shows_playground:
        raise BadRequest(
            "team_pattern: requests may choose the team's pattern only where PLAYGROUND is on. Leave it out, or change "
            "the pattern in AGENTS_FILE."
        )


def _brings_prompt(request: ChatRequest) -> bool:
    return request.overrides.prompt_template is not None or any(
        message.role is Role.SYSTEM for message in request.messages
    )
