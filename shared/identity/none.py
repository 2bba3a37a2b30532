"""`AUTH_MODE=none`: nobody signs in, and no header says who it is."""

from collections.abc import Mapping

from shared.chat_types import Caller


class NoIdentity:
    """Everyone is anonymous."""

    async def caller(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 (none of them counts)
        """Nobody in particular."""
        return Caller()

    async def aclose(self) -> None:
        """Nothing was opened."""
