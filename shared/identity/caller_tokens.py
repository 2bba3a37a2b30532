"""The tokens of callers on whose behalf tools are called: in memory alone, the last one of each caller."""

import time
from collections.abc import Mapping

from pydantic import SecretStr

from shared.chat_types import Caller

_SECONDS = 3600.0
"""How long a token is kept; those of Entra ID are valid for an hour or a little longer."""
_MOST_CALLERS = 5_000


class CallerTokens:
    """The tokens that callers signed in with."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[SecretStr, float]] = {}

    def keep(self, caller: Caller, headers: Mapping[str, str]) -> None:
        """Keep the token of a request, which has been checked.

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
