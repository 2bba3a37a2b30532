"""Limits of how many runs a caller may have in progress, and of the bytes that are kept of them, counted here.

Each process counts by itself, and a new one begins at 0.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from shared.errors import RateLimited
from shared.runs.records import RETENTION_SECONDS
from shared.settings import Settings

_MOST_CALLERS = 10_000
"""Callers who are remembered; beyond it those who have not begun a run for the longest time are forgotten."""
_HOUR = 60 * 60
_RETRY_SECONDS = 5
"""When to try again while runs are in progress."""
_BYTES_PER_TOKEN = 12
"""Most answers have four bytes a token, which are kept three times: as a model call, in the journal, in the result."""


@dataclass(slots=True)
class _Account:
    """What one caller has begun."""

    going: set[str] = field(default_factory=set[str])
    """Runs that had not ended when they were looked at last."""
    hours: dict[int, int] = field(default_factory=dict[int, int])
    """Bytes by the hour in which they were kept."""


class Quotas:
    """Counts the runs of callers.

    Args:
        settings: Have the limits.
        has_ended: Whether a run has ended or is gone.
    """

    def __init__(self, settings: Settings, has_ended: Callable[[str], Awaitable[bool]]) -> None:
        self._most_runs = settings.limit_caller_runs
        self._most_bytes = settings.limit_caller_kept_megabytes * 1_000_000
        self._answer_bytes = settings.chat_max_tokens * _BYTES_PER_TOKEN
        self._has_ended = has_ended
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    async def refusal(self, caller: str) -> RateLimited | None:
        """Return why a caller may begin no run now; None: they may.

        Raises:
            Unavailable, TooSlow: the store cannot be used.
        """
        account = self._accounts.get(caller)
        if account is None:
            return None
        if self._most_runs and len(account.going) >= self._most_runs:
            known = tuple(account.going)
            ended = await asyncio.gather(*map(self._has_ended, known))
            account.going.difference_update(one for one, has in zip(known, ended, strict=True) if has)
            if len(account.going) >= self._most_runs:
                message = f"This app works on at most {self._most_runs} kept answers of each caller at a time."
                return RateLimited(f"{message} Wait for one, or stop one.", retry_after=_RETRY_SECONDS)
        now = time.time()
        first = math.floor((now - RETENTION_SECONDS) / _HOUR)
        account.hours = {hour: size for hour, size in account.hours.items() if hour >= first}
        if self._most_bytes and sum(account.hours.values()) >= self._most_bytes:
            frees_in = (min(account.hours) - first + 1) * _HOUR - now % _HOUR
            message = f"This app keeps at most {self._most_bytes // 1_000_000} MB a day of the answers of each caller."
            return RateLimited(f"{message} Ask for one that is not kept.", retry_after=math.ceil(frees_in))
        return None

    def count(self, caller: str, run_id: str, size: int) -> None:
        """Count a run that begins.

        Args:
            caller: The key of the caller's budget.
            run_id: The run.
            size: Bytes of its request.
        """
        if not (self._most_runs or self._most_bytes):
            return
        account = self._accounts.setdefault(caller, _Account())
        self._accounts.move_to_end(caller)
        hour = int(time.time() // _HOUR)
        account.hours[hour] = account.hours.get(hour, 0) + size + self._answer_bytes
        if self._most_runs:
            account.going.add(run_id)
        if len(self._accounts) > _MOST_CALLERS:
            self._accounts.popitem(last=False)
