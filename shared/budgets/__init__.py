"""Budgets: how much each caller, and all callers together, may use: requests a minute and tokens a day.

`ledger` counts in the process. `shared_counts` adds what other instances counted, through a table. `model` caps each
model call and reports its tokens. Nothing here waits for anything.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller, or all callers together, may use. 0: no limit."""

    requests: int = 0
    """In any 60 seconds."""
    tokens: int = 0
    """In a day (UTC), prompts and answers together."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, which tests pass in."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never jump, for the minute."""
    utc: Callable[[], float] = time.time
    """Unix seconds, for the day."""
