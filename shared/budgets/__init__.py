"""Budgets: limits of requests per minute and tokens per day, for each caller and for all callers together.

`ledger` counts in the process. `shared_counts` adds the counts of other instances, through a table. `model` limits the
size of each model call and counts its tokens. No request waits for the table.
"""

import time
from collections.abc import Callable

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """The limits of one caller, or of all callers together; 0: no limit."""

    requests: int = 0
    """Requests in any 60 seconds."""
    tokens: int = 0
    """Tokens in a day (UTC), of prompts and answers together."""


class Clock(msgspec.Struct, frozen=True):
    """The clocks that budgets use; tests pass in their own."""

    monotonic: Callable[[], float] = time.monotonic
    """Monotonic time in seconds, for limits per minute."""
    utc: Callable[[], float] = time.time
    """Unix time in seconds, for limits per day."""
