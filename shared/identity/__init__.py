"""Who is calling, and what they may see. Only what the platform or a signed token vouches for counts.

One implementation for each `AUTH_MODE`: `none`, `easy_auth`, `bearer`.
"""

from collections.abc import Mapping
from typing import Protocol

from shared.chat_types import Caller, PartHealth


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

    async def aclose(self) -> None:
        """Close what this identity opened."""
        ...
