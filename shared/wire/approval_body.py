"""Approvals as JSON: what a person is shown of a call of a tool, and what a decision is."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.request_body import BodyModel

LONGEST_DECISION = 10_000
"""Bytes of the body of a decision."""
DECISION_EXAMPLE = '{"approved": true, "reason": "…"}'


class ApprovalDecision(BodyModel):
    """What a person decides about a call."""

    approved: Annotated[bool, Field(strict=True, description="Whether the call may run.")]
    reason: Annotated[str, Field(max_length=1_000, description="Why, for the agent to read.")] = ""


class Approval(TypedDict):
    """A call of a tool that needs a person's consent."""

    id: Annotated[str, Field(description="Its id, 32 hexadecimal digits.")]
    state: Literal["open", "claimed", "executing", "executed", "failed", "denied", "expired", "abandoned"]
    agent: Annotated[str, Field(description="The agent that wants to call.")]
    server: Annotated[str, Field(description="The server or API of the tool, as the agents file names it.")]
    tool: Annotated[str, Field(description="The tool's name there.")]
    description: Annotated[str, Field(description="What the tool does, as its server says.")]
    arguments: Annotated[str, Field(description="All arguments, as JSON.")]
    code: Annotated[str, Field(description="What a chat without buttons calls it, as in `approve K7QX`.")]
    expires: Annotated[str, Field(description="When it can no longer be decided.")]
    asker: NotRequired[Annotated[str, Field(description="Who asked.")]]
    decided_by: NotRequired[str | None]
    run: NotRequired[Annotated[str, Field(description="The answer that waits for it, for who asked.")]]
    result: NotRequired[Annotated[str | None, Field(description="What the tool returned, for who asked.")]]


class Approvals(TypedDict):
    """Approvals that are open."""

    approvals: list[Approval]
    next: Annotated[str | None, Field(description="`after` for the next page; null: there are no more.")]
