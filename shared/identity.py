"""Who is calling. Only what the platform vouches for counts: with `AUTH_MODE=none`, nothing."""

from shared.chat_types import Caller

ANONYMOUS = Caller()
"""Everyone, as long as nobody signs in."""
