"""The request headers of asynchronous batches: `Prefer` (RFC 7240) and `Idempotency-Key` (IETF draft 06)."""

import re
from collections.abc import Sequence

import msgspec

from shared.errors import BadRequest

MOST_WAIT_SECONDS = 60
"""The longest `wait` that is kept; longer ones wait so long. Gateways give up between 100 and 230 seconds."""
MAX_KEY_LENGTH = 255
"""Characters of an idempotency key."""

_LONGEST_HEADER = 1024
"""Characters of `Prefer` that are read."""
_NAME = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Spaces are matched possessively (`*+`): else there would be 2^n ways to share those of `a ; ; ; (` out.
_PREFERENCE = re.compile(
    rf"\s*+({_NAME})(?:\s*+=\s*+({_NAME}|{_QUOTED})?)?((?:\s*+;\s*+(?:{_NAME}(?:\s*+=\s*+(?:{_NAME}|{_QUOTED})?)?)?)*+)\s*"
)


class Preferences(msgspec.Struct, frozen=True):
    """What a request prefers."""

    respond_async: bool = False
    """Whether it may be answered with 202 and a place to ask later."""
    wait: int | None = None
    """Seconds that it waits for the answer before that; None: not told."""

    @property
    def applied(self) -> str:
        """`Preference-Applied` of a response that follows them."""
        return "respond-async" if self.wait is None else f"respond-async, wait={self.wait}"


def read_preferences(values: Sequence[str]) -> Preferences:
    """Read the `Prefer` headers of a request.

    What is unknown or malformed is ignored, and of a preference that is there twice the first counts (RFC 7240, 2).

    Args:
        values: The values of all headers of this name, in order.
    """
    found: dict[str, str] = {}
    for part in _split(",".join(values)[:_LONGEST_HEADER]):
        if match := _PREFERENCE.fullmatch(part):
            found.setdefault(match[1].lower(), (match[2] or "").strip('"'))
    wait = found.get("wait", "")
    seconds = min(int(wait), MOST_WAIT_SECONDS) if re.fullmatch("[0-9]{1,9}", wait) else None
    return Preferences(found.get("respond-async") == "", seconds)


def read_key(values: Sequence[str]) -> str | None:
    """Read the `Idempotency-Key` of a request; None if it has none. With or without quotes it is the same key.

    Raises:
        BadRequest: there are several, or it is empty, too long, or holds other than printable ASCII characters.
    """
    if not values:
        return None
    key = values[0].strip()
    if len(key) > 1 and key.startswith('"') and key.endswith('"'):
        key = key[1:-1]
    if len(values) > 1 or not re.fullmatch(rf"[\x20-\x7e]{{1,{MAX_KEY_LENGTH}}}", key):
        raise BadRequest(
            f"Idempotency-Key: send one, of 1 to {MAX_KEY_LENGTH} printable ASCII characters, such as a UUID."
        )
    return key


def _split(value: str) -> list[str]:
    """Split at commas outside of quotes; where a quote does not end, at all of them after it."""
    return re.findall(rf"(?:{_QUOTED}|[^,])+", value)
