"""Answers that may come later: what a request prefers, the answer that is not there yet, and approvals.

Source: RFC 7240 for `Prefer`; IETF draft 06 for `Idempotency-Key`.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from pydantic import Field
from werkzeug.http import parse_list_header

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.tools.calls import KeptCall
from shared.wire.request_body import BodyModel

LONGEST_DECISION = 10_000
"""Bytes of the body of a decision."""
DECISION_EXAMPLE = '{"approved": true, "reason": "…"}'


class ApprovalDecision(BodyModel):
    """What a person decides about a call."""

    approved: Annotated[bool, Field(strict=True, description="Whether the call may run.")]
    reason: Annotated[str, Field(max_length=1_000, description="Why, for the agent to read.")] = ""


def utc(seconds: float) -> str:
    """Write a Unix time as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def approval_json(call: KeptCall) -> dict[str, Json]:
    """Write what a person has to know who decides about a call."""
    return {
        "id": call.approval_id,
        "state": call.state,
        "agent": call.agent,
        "server": call.server,
        "tool": call.tool,
        "description": call.description,
        "arguments": call.arguments,
        "origins": {**call.origins},
        "code": call.code,
        "expires": utc(call.expires),
    }


MOST_WAIT_SECONDS = 60
"""The longest `wait` that is kept; longer ones wait so long. Gateways give up between 100 and 230 seconds."""
MAX_KEY_LENGTH = 255
"""Characters of an idempotency key."""

_LONGEST_HEADER = 1024
"""Characters of `Prefer` that are read."""


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
    for part in parse_list_header(",".join(values)[:_LONGEST_HEADER]):
        name, _, value = part.partition(";")[0].partition("=")
        found.setdefault(name.strip().lower(), value.strip().strip('"'))
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
