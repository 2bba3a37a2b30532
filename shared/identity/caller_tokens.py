"""The tokens of callers on whose behalf tools are called: in memory alone, for the time of a turn."""

import time
from collections.abc import Mapping

from pydantic import SecretStr

_SECONDS = 3600.0
"""How long a token is kept; a turn takes less."""
_MOST = 5_000


class CallerTokens:
    """Tokens by the id of the invocation that brought them."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[SecretStr, float]] = {}

    def keep(self, invocation_id: str, headers: Mapping[str, str]) -> None:
        """Keep the token of a request whose caller is known; it has been checked."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return
        now = time.monotonic()
        while self._kept and (len(self._kept) >= _MOST or next(iter(self._kept.values()))[1] < now):
            del self._kept[next(iter(self._kept))]
        self._kept[invocation_id] = SecretStr(token.strip()), now + _SECONDS

    def of(self, invocation_id: str) -> SecretStr | None:
        """Return the token of an invocation; None if it brought none, or that is long ago."""
        token, until = self._kept.get(invocation_id, (None, 0.0))
        return token if until >= time.monotonic() else None
