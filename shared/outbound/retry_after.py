"""How long a service asks to wait before the next try, and what comes of that."""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from random import SystemRandom
from time import time

_NUMBERS = (("retry-after-ms", 1000), ("x-ms-retry-after-ms", 1000), ("retry-after", 1))
"""Headers that hold a number, Azure's first, which is exacter; and by what it is divided to be seconds."""


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Seconds, never fewer than none; None where the headers do not say.

    Args:
        headers: Of an answer; names in any case. `Retry-After` may hold a date (RFC 9110, 10.2.3).
    """
    for name, divisor in _NUMBERS:
        try:
            seconds = float(headers[name]) / divisor
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time())
    except (KeyError, ValueError, OverflowError):
        return None


def wait_before_retry(retry_after: float | None, *, backoff: float, longest: float) -> float | None:
    """Seconds to wait before the next try; None where the service asks for more than is sat out.

    Args:
        retry_after: What the service asks for; None: it does not say.
        backoff: About how long to wait then.
        longest: What is sat out; the caller decides about longer ones.
    """
    if retry_after is not None:
        return retry_after if retry_after <= longest else None
    # The jitter keeps those who were refused together from coming back together.
    return backoff * SystemRandom().uniform(0.75, 1.25)


def seconds_to_tell(retry_after: float | None) -> int:
    """What the caller is told to wait: whole seconds, and ten where the service does not say."""
    return 10 if retry_after is None else max(1, math.ceil(retry_after))
