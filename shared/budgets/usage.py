"""What a caller, or all callers together, have used: requests of the last minute, and tokens of a day."""

from typing import Self

import msgspec

from shared.budgets.standing import MINUTE

STEP_SECONDS = 5
"""Length of the steps of a minute in which requests are counted, in seconds. Steps keep the memory per caller small."""
STEPS = MINUTE // STEP_SECONDS + 1
"""Number of steps that overlap the last minute; the oldest counts until it is entirely over."""


class Consumption(msgspec.Struct):
    """Requests by their step, and tokens of a day. Instances exchange it as JSON."""

    steps: dict[int, int] = {}
    """Requests by their step: the number of `STEP_SECONDS` since the clock began."""
    tokens: int = 0
    """Tokens of `day`."""
    day: int = 0
    """The day (UTC), in days since 1970."""

    def requests_at(self, now: float) -> int:
        """Return the requests in the minute before `now`, and up to one step longer; forget older ones."""
        oldest = int(now // STEP_SECONDS) - STEPS
        for step in [step for step in self.steps if step <= oldest]:
            del self.steps[step]
        return sum(self.steps.values())

    def frees_in(self, now: float) -> float:
        """Return the seconds until the oldest requests no longer count."""
        return (min(self.steps) + STEPS) * STEP_SECONDS - now if self.steps else float(STEP_SECONDS)

    def tokens_on(self, day: int) -> int:
        """Return the tokens of a day."""
        return self.tokens if day == self.day else 0

    def count_request(self, now: float) -> None:
        """Count one request."""
        step = int(now // STEP_SECONDS)
        self.steps[step] = self.steps.get(step, 0) + 1

    def count_tokens(self, count: int, day: int) -> None:
        """Count tokens; a correction may be negative."""
        self.tokens = self.tokens_on(day) + count
        self.day = day

    def add(self, other: "Consumption") -> Self:
        """Add what another counted; of two days the later one counts."""
        for step, count in other.steps.items():
            self.steps[step] = self.steps.get(step, 0) + count
        if other.day >= self.day:
            self.count_tokens(other.tokens, other.day)
        return self

    def subtract(self, part: "Consumption") -> None:
        """Take away what was copied from it earlier, as far as it is still counted."""
        for step in part.steps.keys() & self.steps.keys():
            self.steps[step] -= part.steps[step]
            if not self.steps[step]:
                del self.steps[step]
        if part.day == self.day:
            self.tokens -= part.tokens

    def copy(self) -> "Consumption":
        """Return one that counts on by itself."""
        return Consumption(dict(self.steps), self.tokens, self.day)

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return bool(self.steps or self.tokens)
