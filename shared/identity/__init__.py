"""Who is calling, and what they may see. Only what the platform or a signed token vouches for counts.

One implementation for each `AUTH_MODE`: `none`, `easy_auth`, `bearer`.
"""

import logging
from collections.abc import Mapping
from typing import Protocol

from shared.chat_types import Access, Caller, Overrides, PartHealth
from shared.errors import NotAllowed, NotSignedIn
from shared.settings import Settings

_log = logging.getLogger("switchboard.identity")

_SHARED_CHATS = (
    "App Service Authentication is in front of the app, and AUTH_MODE is none: all who sign in share one chat history. "
    "So that each has their own, set AUTH_MODE to easy-auth; or HISTORY_BACKEND to off."
)


class Identity(Protocol):
    """Tells who is calling."""

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Who sent a request with these headers, whose names may have any case.

        Raises:
            NotSignedIn: nobody is signed in, or what says so does not hold.
            Unavailable: it cannot be checked now.
        """
        ...

    async def check(self) -> PartHealth:
        """How callers sign in, and what is wrong with that."""
        ...


class NoIdentity:
    """Everyone is anonymous.

    Args:
        problem: Why that is hardly meant, as a sentence; None: nothing speaks against it.
    """

    def __init__(self, problem: str | None = None) -> None:
        self._problem = problem

    @classmethod
    def from_settings(cls, settings: Settings) -> "NoIdentity":
        """For these settings, with a warning in the log where that is hardly meant."""
        if not settings.website_auth_enabled or settings.history_backend == "off":
            return cls()
        _log.warning(_SHARED_CHATS)
        return cls(_SHARED_CHATS)

    async def caller(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 (none of them counts)
        """Nobody in particular."""
        return Caller()

    async def check(self) -> PartHealth:
        """Whether that is meant; answers are given all the same."""
        detail = self._problem or "Nobody signs in (AUTH_MODE)."
        return PartHealth("none", ok=self._problem is None, detail=detail, needed=False)


def access_of(caller: Caller, settings: Settings, overrides: Overrides | None = None) -> Access | None:
    """What this caller may see; None: everything.

    Each security filter of a request leaves a part of what `ACCESS_CONTROL=enforced` shows, so a request narrows that,
    whatever it asks for.

    Args:
        caller: Who is calling.
        settings: Whether rights are enforced, and whether documents that name nobody are open.
        overrides: The request's security filters; None: it has none.

    Raises:
        NotSignedIn: rights matter here, and nobody is signed in.
        NotAllowed: they depend on groups, and the caller's token does not name them.
    """
    by_oid = bool(overrides and overrides.use_oid_security_filter)
    by_groups = bool(overrides and overrides.use_groups_security_filter)
    enforced = settings.access_control == "enforced"
    if not (by_oid or by_groups or enforced):
        return None
    if caller.oid is None:
        raise NotSignedIn(
            "Sign in: who is not signed in may see no document here."
            if enforced
            else "Sign in to search with a security filter, or leave the security filters off."
        )
    if not (by_oid or by_groups):
        return Access(caller.oid, _known(caller.groups), settings.access_control_open_documents)
    return Access(caller.oid if by_oid else None, _known(caller.groups) if by_groups else None)


def _known(groups: tuple[str, ...] | None) -> tuple[str, ...]:
    if groups is None:
        raise NotAllowed(
            "You are in more groups than a token has room for, so what they may see is not known. Ask your "
            "administrator to send only the groups that are assigned to this application."
        )
    return groups
