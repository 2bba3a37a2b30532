"""Types of the routes of runs and approvals."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.tools.calls import CallState
from tools.description.shapes.parts import Time


class RunEnd(TypedDict):
    """The last event of a team's answer."""

    status: Annotated[int, Field(description="The status that it ended with.")]


class Approval(TypedDict):
    """A call of a tool that needs a person's consent."""

    id: Annotated[str, Field(description="Its id, hexadecimal digits.")]
    state: Annotated[
        CallState,
        Field(
            description="`open`: waits for a decision. `claimed`: allowed, and runs soon. `executing`: runs. "
            "`unknown`: it may have run. `not_run`: allowed, and did not run all the same."
        ),
    ]
    agent: Annotated[str, Field(description="The agent that wants to call.")]
    server: Annotated[str, Field(description="The server or API of the tool, as the agents file names it.")]
    tool: Annotated[str, Field(description="The tool's name there.")]
    description: Annotated[str, Field(description="What the tool does, as its server says.")]
    arguments: Annotated[str, Field(description="All arguments, as JSON.")]
    origins: Annotated[
        dict[str, str],
        Field(description="Where arguments come from that the user has not written."),
    ]
    code: Annotated[str, Field(description="What a chat without buttons calls it, as in `approve K7QX`.")]
    expires: Annotated[str, Field(description="When it can no longer be decided.")]
    asker: NotRequired[Annotated[str, Field(description="Who asked.")]]
    decided_by: NotRequired[str | None]
    reason: NotRequired[Annotated[str | None, Field(description="Why, as who decided has said.")]]
    run: NotRequired[Annotated[str, Field(description="The answer that waits for it, for who asked.")]]
    result: NotRequired[Annotated[str | None, Field(description="What the tool returned, for who asked.")]]


class Approvals(TypedDict):
    """Approvals, those first whose time runs out first."""

    approvals: list[Approval]
    next: Annotated[str | None, Field(description="`after` for the next page; null: there are no more.")]


class Run(TypedDict):
    """An answer that has not ended."""

    id: Annotated[str, Field(description="Its id.")]
    status: Literal["queued", "running", "waiting"]
    created: Time
    messages: Annotated[list[Any], Field(description="The agents' messages so far, in the protocol of the request.")]
    approvals: NotRequired[Annotated[list[Approval], Field(description="With `waiting`: the calls to decide about.")]]


class ListedRun(TypedDict):
    """A kept run as operators see it."""

    id: Annotated[str, Field(description="Its id.")]
    state: Annotated[
        Literal["queued", "running", "stuck", "waiting", "failed"],
        Field(description="`stuck`: nobody works on it, though somebody should. `waiting`: for a person."),
    ]
    wire: Annotated[str, Field(description="The protocol of its request; empty: the request cannot be read.")]
    owner: Annotated[str, Field(description="Who asked, as in the audit record.")]
    created: Time
    updated: Annotated[Time, Field(description="When its instance last gave a sign of life.")]
    age: Annotated[int, Field(description="Seconds since it was accepted.")]
    waits_for: Annotated[list[str], Field(description="The tools whose calls a person has to decide about.")]


class ListedRuns(TypedDict):
    """A page of runs, the oldest of the page first."""

    runs: list[ListedRun]
    next: Annotated[str | None, Field(description="`after` for the next page; null: there are no more.")]
