"""The health of a service, kept for a while: probes come often, and each would cost the service a request."""

import asyncio
from collections.abc import Awaitable, Callable

from shared.chat_types import PartHealth

_AGE = 30.0
"""Seconds for which an answer holds."""


class CachedHealth:
    """Asks a service how it is at most every 30 seconds, and once for all who want to know at the same time.

    Args:
        ask: Finds out; what is wrong is in its answer.
    """

    def __init__(self, ask: Callable[[], Awaitable[PartHealth]]) -> None:
        self._ask = ask
        self._health: PartHealth | None = None
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def latest(self) -> PartHealth:
        """How the service is, as far as that is known."""
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if self._health is None or now >= self._until:
                self._health = await self._ask()
                self._until = now + _AGE
            return self._health
