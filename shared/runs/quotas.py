"""Limits of how many runs a caller may have in progress, and of the bytes that are kept of them.

What a caller has begun is one object in the store, so that all instances count together.
"""

import asyncio
import math
import random
import time
from contextlib import suppress

import msgspec

from shared.errors import RateLimited, Unavailable
from shared.runs import NEW, Conflict, ObjectStore, claim, records
from shared.settings import Settings

_HOUR = 60 * 60
_RETRY_SECONDS = 5
"""When to try again while runs are in progress."""
_BYTES_PER_TOKEN = 12
"""Most answers have four bytes a token, which are kept three times: as a model call, in the journal, in the result."""
_MOST_TRIES = 20
_PAUSE_SECONDS = 0.02


class _Account(msgspec.Struct, frozen=True):
    """What one caller has begun."""

    going: dict[str, float] = {}
    """Runs that had not ended when they were looked at last, with the Unix times of their beginning."""
    hours: dict[int, int] = {}
    """Bytes by the hour in which they were kept."""


class Quotas:
    """Counts the runs of callers.

    Args:
        settings: Have the limits.
        store: Keeps what is counted, beside the runs.
    """

    def __init__(self, settings: Settings, store: ObjectStore) -> None:
        self._most_runs = settings.limit_caller_runs
        self._most_bytes = settings.limit_caller_kept_megabytes * 1_000_000
        self._answer_bytes = settings.chat_max_tokens * _BYTES_PER_TOKEN
        self._store = store

    async def count(self, caller: str, run_id: str, size: int) -> None:
        """Count a run that is about to begin.

        Args:
            caller: The key of the caller's budget.
            run_id: The run.
            size: Bytes of its request.

        Raises:
            RateLimited: the caller may begin none now.
        """
        if not (self._most_runs or self._most_bytes):
            return
        name = f"callers/{records.digest(caller)}"
        for tried in range(_MOST_TRIES):
            found, now = await self._store.read(name), time.time()
            account = await self._account_now(records.decode(found.data, _Account) if found else _Account(), now)
            hour = int(now // _HOUR)
            counted = _Account(
                account.going | ({run_id: now} if self._most_runs else {}),
                account.hours | {hour: account.hours.get(hour, 0) + size + self._answer_bytes},
            )
            with suppress(Conflict):  # the caller begins another run at the same time
                await self._store.write(name, msgspec.json.encode(counted), found.etag if found else NEW)
                return
            await asyncio.sleep(random.uniform(0, tried * _PAUSE_SECONDS))  # noqa: S311 (no secret)
        raise Unavailable("You begin too many answers at the same time. Try again.")

    async def _account_now(self, account: _Account, now: float) -> _Account:
        """Leave out what no longer counts; raise RateLimited if the caller may begin no run."""
        going = account.going
        if self._most_runs and len(going) >= self._most_runs:
            ended = await asyncio.gather(*(self._has_ended(run_id, now - began) for run_id, began in going.items()))
            going = {run_id: began for (run_id, began), has in zip(going.items(), ended, strict=True) if not has}
            if len(going) >= self._most_runs:
                message = f"This app works on at most {self._most_runs} kept answers of each caller at a time."
                raise RateLimited(f"{message} Wait for one, or stop one.", retry_after=_RETRY_SECONDS)
        first = math.floor((now - records.RETENTION_SECONDS) / _HOUR)
        hours = {hour: size for hour, size in account.hours.items() if hour >= first}
        if self._most_bytes and sum(hours.values()) >= self._most_bytes:
            frees_in = (min(hours) - first + 1) * _HOUR - now % _HOUR
            message = f"This app keeps at most {self._most_bytes // 1_000_000} MB a day of the answers of each caller."
            raise RateLimited(f"{message} Ask for one that is not kept.", retry_after=math.ceil(frees_in))
        return _Account(going, hours)

    async def _has_ended(self, run_id: str, age: float) -> bool:
        """Whether a run has ended or is gone; one that has no state yet is about to begin."""
        state = await claim.read_state(self._store, run_id)
        if state is None:
            return age > records.QUEUED_SECONDS
        return state.deleted or bool(state.waits) or await claim.read_result(self._store, run_id) is not None
