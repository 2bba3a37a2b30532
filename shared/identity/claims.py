"""Reading a sign-in: the one header that it comes in, and what its claims say of the user.

Claims have the same names in tokens and behind App Service Authentication, but for those in `_NAMES`.

Source: Microsoft identity platform, 'Access token claims reference' and 'Groups overage claim'.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from shared.chat_types import Caller
from shared.errors import NotSignedIn

MOST_CHARACTERS = 64 * 1024
"""More than any sign-in takes; nothing longer is looked into."""


def only_header(headers: Mapping[str, str], name: str) -> str | None:
    """The value of a header that may come once; None where it does not come.

    Args:
        headers: Their names may have any case; `items()` has one that is repeated as often as it came.
        name: In lower case.

    Raises:
        NotSignedIn: it is repeated, or far too long.
    """
    values = [value for found, value in headers.items() if found.lower() == name]
    if not values:
        return None
    if len(values) > 1:
        raise NotSignedIn(f"The header {name} came more than once: send one.", refused=True)
    if len(values[0]) > MOST_CHARACTERS:
        raise NotSignedIn(f"The header {name} is longer than any sign-in.", refused=True)
    return values[0]


_NAMES = {
    "http://schemas.microsoft.com/identity/claims/objectidentifier": "oid",
    "http://schemas.microsoft.com/identity/claims/tenantid": "tid",
    "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups": "groups",
    "http://schemas.microsoft.com/claims/groups.link": "hasgroups",
}
"""What App Service Authentication, as .NET does, calls some claims."""


def caller_of(claims: Iterable[tuple[str, object]], tenant: str | None) -> Caller:
    """Who claims are about.

    Args:
        claims: Names, short or as URIs, and values; a name may come often.
        tenant: The one that they have to come from; None: any.

    Raises:
        NotSignedIn: they name no user, more than one, or one of another tenant.
    """
    values: dict[str, list[object]] = {}
    for name, value in claims:
        values.setdefault(_NAMES.get(name, name), []).append(value)
    oid, home = _one(values, "oid"), _one(values, "tid")
    if oid is None:
        raise NotSignedIn("The sign-in names no user of Microsoft Entra ID (oid): sign in there.", refused=True)
    if tenant and (home or "").lower() != tenant.lower():
        raise NotSignedIn("The sign-in is of another tenant: sign in to the one of this app.", refused=True)
    return Caller(oid, _groups(values), home)


def _one(values: dict[str, list[object]], name: str) -> str | None:
    """The value of a claim that has one; None where there is none."""
    match values.get(name, []):
        case []:
            return None
        case [str(value), *others] if value and all(other == value for other in others):
            return value
        case _:
            raise NotSignedIn(f"The sign-in cannot be read: {name} is not one value.", refused=True)


def _groups(values: dict[str, list[object]]) -> tuple[str, ...] | None:
    """The groups; None where the token only says where to ask for them."""
    elsewhere = any(isinstance(names, str | dict) and "groups" in names for names in values.get("_claim_names", ()))
    if elsewhere or "hasgroups" in values:
        return None
    groups: list[str] = []
    for value in values.get("groups", ()):
        several = cast("list[object]", value) if isinstance(value, list) else [value]
        groups += [group for group in several if isinstance(group, str)]
    return tuple(dict.fromkeys(group for group in groups if group))
