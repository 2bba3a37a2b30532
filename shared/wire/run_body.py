"""The JSON of runs: the calls that one waits for, and what a person decides about one."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from shared.chat_types import Json
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
