"""Reads a sign-in: the header that contains it, and the user that its claims name.

Claims have the same names in tokens and in App Service Authentication, except those in `_SHORT_NAMES`.

Source: Microsoft identity platform, 'Access token claims reference' and 'Groups overage claim'.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from shared.chat_types import Caller
from shared.errors import NotSignedIn

LONGEST_HEADER = 64 * 1024
"""Characters of a header with a sign-in. A longer one is refused unread; no real sign-in needs so many."""


def only_header(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a header that may occur once; None if it is missing.

    Args:
        headers: The request's headers. Names may have any case; `items()` contains a repeated header several times.
        name: The header's name, in lower case.

    Raises:
        NotSignedIn: the header is repeated or too long.
    """
    values = [value for found, value in headers.items() if found.lower() == name]
    if not values:
        return None
    if len(values) > 1:
        raise NotSignedIn(f"The header {name} came more than once: send one.", refused=True)
    if len(values[0]) > LONGEST_HEADER:
        raise NotSignedIn(f"The header {name} is longer than any sign-in.", refused=True)
    return values[0]


def bearer_token(headers: Mapping[str, str], advice: str) -> str:
    """Return the token of a request; raise NotSignedIn with the advice if it has none."""
    scheme, _, token = (only_header(headers, "authorization") or "").partition(" ")
    if scheme.lower() != "bearer":
        raise NotSignedIn(advice)
    return token.strip(" ")


_SHORT_NAMES = {
    "http://schemas.microsoft.com/identity/claims/objectidentifier": "oid",
    "http://schemas.microsoft.com/identity/claims/tenantid": "tid",
    "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups": "groups",
    "http://schemas.microsoft.com/claims/groups.link": "hasgroups",
}
"""Short names of the claims for which App Service Authentication uses the names of .NET."""


def caller_of(claims: Iterable[tuple[str, object]], tenant: str | None) -> Caller:
    """Return the user that claims name.

    Args:
        claims: Pairs of a name, short or as a URI, and a value. A name may be repeated.
        tenant: Id of the tenant that the user must belong to; None: any tenant.

    Raises:
        NotSignedIn: the claims name no user, several users, or a user of another tenant.
    """
    values: dict[str, list[object]] = {}
    for name, value in claims:
        values.setdefault(_SHORT_NAMES.get(name, name), []).append(value)
    oid, home = _one(values, "oid"), _one(values, "tid")
    if oid is None:
        raise NotSignedIn("The sign-in names no user of Microsoft Entra ID (oid): sign in there.", refused=True)
    if tenant and (home or "").lower() != tenant.lower():
        raise NotSignedIn("The sign-in is of another tenant: sign in to the one of this app.", refused=True)
    return Caller(oid, _groups(values), home)


def _one(values: dict[str, list[object]], name: str) -> str | None:
    """Return the only value of a claim; None if the claim is missing."""
    match values.get(name, []):
        case []:
            return None
        case [str(value), *others] if value and all(other == value for other in others):
            return value
        case _:
            raise NotSignedIn(f"The sign-in cannot be read: {name} is not one value.", refused=True)


def _groups(values: dict[str, list[object]]) -> tuple[str, ...] | None:
    """Return the groups; None if there are too many for the token, which then only refers to them."""
    elsewhere = any(isinstance(names, str | dict) and "groups" in names for names in values.get("_claim_names", ()))
    if elsewhere or "hasgroups" in values:
        return None
    groups: list[str] = []
    for value in values.get("groups", ()):
        several = cast("list[object]", value) if isinstance(value, list) else [value]
        groups += [group for group in several if isinstance(group, str)]
    return tuple(dict.fromkeys(group for group in groups if group))
