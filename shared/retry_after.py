"""How long a service asks to wait before the next try."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
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
    except (KeyError, ValueError):
        return None
