"""What callers have used, the state of their limits, and the response headers and the error that report it.

Source: draft-ietf-httpapi-ratelimit-headers-10 (`RateLimit`, `RateLimit-Policy`); OpenAI API reference, 'Rate limits',
'Rate limits in headers' (`x-ratelimit-*`).
"""

import math
from collections.abc import Iterable, Iterator
from typing import Literal, Self

import msgspec

from shared.errors import RateLimited

MINUTE = 60
DAY = 24 * 60 * 60


class Standing(msgspec.Struct, frozen=True):
    """One limit and its use."""

    unit: Literal["requests", "tokens"]
    """The unit: requests per minute, or tokens per day."""
    of_all: bool
    """Whether it is the limit of all callers together."""
    limit: int
    """Maximum of requests or tokens."""
    used: float
    """Requests or tokens used; tokens may exceed the limit, since a call starts while any tokens are left."""
    grows_in: float
    """Seconds until the remaining amount grows."""

    @property
    def remaining(self) -> int:
        """Remaining requests or tokens, at least 0."""
        return max(0, math.floor(self.limit - self.used))

    @property
    def seconds(self) -> int:
        """Whole seconds until the remaining amount grows, at least 1."""
        return max(1, math.ceil(self.grows_in))

    def refusal(self) -> RateLimited:
        """Make the error for a request that exceeds the limit."""
        who = "all callers together" if self.of_all else "each caller"
        span = "a minute" if self.unit == "requests" else "a day (UTC)"
        message = f"This app takes {self.limit:,} {self.unit} {span} from {who}. Try again in {_words(self.seconds)}."
        return RateLimited(message, retry_after=self.seconds)


def limit_headers(standings: Iterable[Standing]) -> dict[str, str]:
    """Make the response headers; for each unit, from the limit with the least remaining."""
    tightest: dict[str, Standing] = {}
    for standing in standings:
        if standing.unit not in tightest or standing.remaining < tightest[standing.unit].remaining:
            tightest[standing.unit] = standing
    policies: list[str] = []
    remaining: list[str] = []
    headers: dict[str, str] = {}
    for unit, standing in tightest.items():
        window = MINUTE if unit == "requests" else DAY
        policies.append(f'"{unit}";q={standing.limit};w={window}')
        remaining.append(f'"{unit}";r={standing.remaining};t={standing.seconds}')
        headers[f"x-ratelimit-limit-{unit}"] = str(standing.limit)
        headers[f"x-ratelimit-remaining-{unit}"] = str(standing.remaining)
        headers[f"x-ratelimit-reset-{unit}"] = "".join(_parts(standing.seconds))
    return {"ratelimit-policy": ", ".join(policies), "ratelimit": ", ".join(remaining)} | headers


def _parts(seconds: int) -> Iterator[str]:
    """Yield the parts of a duration in OpenAI's format, such as `6m` and `0s`."""
    hours, rest = divmod(seconds, 60 * MINUTE)
    if hours:
        yield f"{hours}h"
    if seconds >= MINUTE:
        yield f"{rest // MINUTE}m"
    yield f"{rest % MINUTE}s"


def _words(seconds: int) -> str:
    for size, name in ((60 * MINUTE, "hours"), (MINUTE, "minutes")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size)} {name}"
    return f"{seconds} second{'s' if seconds > 1 else ''}"


STEP_SECONDS = 5
"""Length of the steps of a minute in which requests are counted, in seconds. Steps keep the memory per caller small."""
STEPS = MINUTE // STEP_SECONDS + 1
"""Number of steps that overlap the last minute; the oldest counts until it is entirely over."""


class Consumption(msgspec.Struct):
    """What was used: requests by their step, and tokens of a day. Instances exchange it as JSON."""

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
        """Count tokens; a correction may be negative. One of an earlier day's count gives nothing back today."""
        if count < 0 and day != self.day:
            return
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
