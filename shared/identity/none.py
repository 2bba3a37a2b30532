"""`AUTH_MODE=none`: nobody signs in, and no header says who it is."""

import logging
from collections.abc import Mapping

from shared.chat_types import Caller, PartHealth
from shared.settings import Settings

_log = logging.getLogger("switchboard.identity")

_SHARED_CHATS = (
    "App Service Authentication is in front of the app, and AUTH_MODE is none: all who sign in share one chat history. "
    "So that each has their own, set AUTH_MODE to easy-auth; or HISTORY_BACKEND to off."
)


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
