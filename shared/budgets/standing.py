"""Where a caller stands in a budget, and the headers and the refusal that say so.

Source: draft-ietf-httpapi-ratelimit-headers-10 (`RateLimit`, `RateLimit-Policy`); OpenAI API reference, 'Rate limits',
'Rate limits in headers' (`x-ratelimit-*`).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from shared.errors import RateLimited

MINUTE = 60
DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Standing:
    """One limit, and what is left of it."""

    unit: Literal["requests", "tokens"]
    """What is counted: requests in a minute, or tokens in a day."""
    of_all: bool
    """Whether it is the limit of all callers together."""
    limit: int
    """How much may be used."""
    used: float
    """How much has been used; tokens may be over the limit, as they are counted afterwards."""
    grows_in: float
    """Seconds until more is left than now."""

    @property
    def remaining(self) -> int:
        """What is left, at least 0."""
        return max(0, math.floor(self.limit - self.used))

    @property
    def seconds(self) -> int:
        """Whole seconds until more is left, at least 1."""
        return max(1, math.ceil(self.grows_in))

    def refusal(self) -> RateLimited:
        """The error for a request for which nothing is left."""
        who = "all callers together" if self.of_all else "each caller"
        span = "a minute" if self.unit == "requests" else "a day (UTC)"
        message = f"This app takes {self.limit:,} {self.unit} {span} from {who}. Try again in {_words(self.seconds)}."
        return RateLimited(message, retry_after=self.seconds)


def limit_headers(standings: Iterable[Standing]) -> dict[str, str]:
    """The headers of an answer: of each unit the limit of which least is left."""
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
    """A duration as OpenAI writes it, such as `6m0s`."""
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
