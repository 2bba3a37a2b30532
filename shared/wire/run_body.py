"""What a request sends that may be answered later, and the answer that is not there yet."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.approval_body import Approval
from shared.wire.described import Answer, Parameter, Time
from shared.wire.prefer import MAX_KEY_LENGTH, MOST_WAIT_SECONDS

RUN_PARAMETERS = (
    Parameter(
        "header",
        "Prefer",
        "'respond-async': answer with 202, and with the answer's address in Location (RFC 7240). "
        f"'respond-async, wait=10': only if it takes longer than 10 seconds, of at most {MOST_WAIT_SECONDS}.",
    ),
    Parameter(
        "header",
        "Idempotency-Key",
        "Of an answer that outlives its request: the same key and request again get the same answer. "
        f"Up to {MAX_KEY_LENGTH} printable characters, such as a UUID.",
    ),
)
"""Headers of a request that may be answered later."""


class Run(TypedDict):
    """An answer that has not ended."""

    id: Annotated[str, Field(description="Its id.")]
    status: Literal["queued", "running", "waiting"]
    created: Time
    messages: Annotated[list[Any], Field(description="The agents' messages so far, in the protocol of the request.")]
    approvals: NotRequired[Annotated[list[Approval], Field(description="With `waiting`: the calls to decide about.")]]


PENDING = Answer(
    "The answer is not there yet: ask again at the address in Location.",
    Run,
    headers=(
        Parameter("header", "Location", "The answer's address, absolute."),
        Parameter("header", "Retry-After", "Seconds to wait.", Annotated[int, Field(ge=1)]),
    ),
)
"""The response while an answer is not there yet."""
