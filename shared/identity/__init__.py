"""Who is calling, and what the caller may see. Only the platform, a signed token or a key can state who is calling.

There is one implementation for each `AUTH_MODE`: `NoIdentity` here, `easy_auth`, `bearer` and `api_keys`.
"""

import logging
import time
from collections.abc import Mapping
from typing import Protocol

from pydantic import SecretStr

from shared.chat_types import Access, Caller, Overrides, PartHealth
from shared.errors import NotAllowed, NotSignedIn
from shared.settings import Settings

_log = logging.getLogger("switchboard.identity")

_SHARED_HISTORY_WARNING = (
    "App Service Authentication is in front of the app, but AUTH_MODE is none: all users share one chat history. To "
    "give each user a history of their own, set AUTH_MODE to easy-auth; or set HISTORY_BACKEND to off."
)
_NOBODY = "Nobody signs in. Set AUTH_MODE to bearer, easy-auth or api-key so that callers have to."


class Identity(Protocol):
    """Finds out who is calling."""

    @property
    def health(self) -> PartHealth:
        """How callers sign in, and any problem with it."""
        ...

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller of a request.

        Args:
            headers: The request's headers; their names may have any case.

        Raises:
            NotSignedIn: the caller is not signed in, or the token or header is not valid.
            Unavailable: the sign-in cannot be checked now.
        """
        ...


class NoIdentity:
    """`AUTH_MODE=none`: every caller is anonymous, whatever the headers are. Warns where that is a mistake."""

    def __init__(self, settings: Settings) -> None:
        shares = settings.website_auth_enabled and settings.history_backend != "off"
        detail = _SHARED_HISTORY_WARNING if shares else _NOBODY
        self.health = PartHealth("none", ok=not shares, detail=detail, needed=False)
        """Whether this mode is probably a mistake. The app answers in any case."""
        if shares:
            _log.warning(detail)

    async def caller(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 (they are ignored)
        """Return a caller without a name."""
        return Caller()


def access_of(caller: Caller, settings: Settings, overrides: Overrides | None = None) -> Access | None:
    """Decide what a caller may see. None: everything.

    The security filters of a request can only narrow what `ACCESS_CONTROL=enforced` allows. Each retriever applies the
    result in its searches, and to cited documents that the caller opens.

    Args:
        caller: The caller.
        settings: They say whether rights are enforced, and whether documents without named users or groups are open.
        overrides: The request's overrides, with its security filters; None: there are none.

    Raises:
        NotSignedIn: rights have to be checked, but the caller is not signed in.
        NotAllowed: rights depend on groups, but the caller's token does not list them.
    """
    by_oid = bool(overrides and overrides.use_oid_security_filter)
    by_groups = bool(overrides and overrides.use_groups_security_filter)
    enforced = settings.enforces_rights
    if not (by_oid or by_groups or enforced):
        return None
    if caller.id is None:
        raise NotSignedIn(
            "Sign in: documents are only for users who are signed in."
            if enforced
            else "Sign in to search with a security filter, or leave the security filters off."
        )
    if not (by_oid or by_groups):
        return Access(caller.oid, _known_groups(caller.groups), settings.access_control == "enforced-or-open")
    return Access(caller.oid if by_oid else None, _known_groups(caller.groups) if by_groups else None)


def is_among(caller: Caller, named: frozenset[str]) -> bool:
    """Whether a setting names a caller: a name of an API key, an id of a user or a group, or `all`."""
    names = {*(caller.groups or ()), caller.key or "", caller.oid or ""}
    return "all" in named or not named.isdisjoint(names)


def _known_groups(groups: tuple[str, ...] | None) -> tuple[str, ...]:
    if groups is None:
        raise NotAllowed(
            "You are in more groups than a token has room for, so what they may see is not known. Ask your "
            "administrator to send only the groups that are assigned to this application."
        )
    return groups


_SECONDS = 3600.0
"""How long a token is kept; those of Entra ID are valid for an hour or a little longer."""
_MOST_CALLERS = 5_000


class CallerTokens:
    """The tokens of callers on whose behalf tools are called: in memory alone, the last one of each caller."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[SecretStr, float]] = {}

    def remember(self, caller: Caller, headers: Mapping[str, str]) -> None:
        """Remember the token of a request, which has been checked.

        Args:
            caller: Whom it names.
            headers: The request's.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or caller.id is None:
            return
        now = time.monotonic()
        self._kept.pop(caller.id, None)
        while self._kept and (len(self._kept) >= _MOST_CALLERS or next(iter(self._kept.values()))[1] < now):
            del self._kept[next(iter(self._kept))]
        self._kept[caller.id] = SecretStr(token.strip()), now + _SECONDS

    def of(self, caller: Caller) -> SecretStr | None:
        """Return the last token of a caller; None if this process has seen none for an hour."""
        token, until = self._kept.get(caller.id or "", (None, 0.0))
        return token if until >= time.monotonic() else None
