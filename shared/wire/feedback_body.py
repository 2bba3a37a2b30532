"""Request bodies and JSON answers of the feedback routes."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from pydantic import Field

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.verdicts import LONGEST_TEXT, MOST_LISTED, Judged, Rating, Verdict, answer_id_of, no_such_answer
from shared.wire.request_body import BodyModel, read_limit

FEEDBACK_EXAMPLE = '{"answer_id": "…", "rating": "down", "comment": "…", "expected": "…"}'
_ID = "(?:chatcmpl-|msg_|msg-)?([0-9a-f]{32})(?:[_-][0-9]{1,4})?|(?:resp|msg)_([0-9a-f]{44})(?:_[0-9]{1,4})?"
"""The id of an answer as the protocols write it; a response and its messages have that of their turn."""


class FeedbackBody(BodyModel):
    """`POST /feedback`."""

    answer_id: str = Field(min_length=1, max_length=200, description="Id of the answer, as its protocol has it.")
    rating: Rating = Field(description="Whether the answer is good.")
    comment: str | None = Field(default=None, max_length=LONGEST_TEXT, description="Why.")
    expected: str | None = Field(default=None, max_length=LONGEST_TEXT, description="What a good answer would say.")


def parse_feedback(body: Mapping[str, Json], now: datetime) -> tuple[str, Verdict]:
    """Read a verdict; return the id of the answer, and the verdict.

    Raises:
        BadRequest: a key is wrong; names each wrong key and its accepted values.
        NotFound: no answer has such an id.
    """
    read = FeedbackBody.read(body)
    found = re.fullmatch(_ID, read.answer_id)
    if found is None:
        raise no_such_answer()
    time = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    verdict = Verdict(read.rating, time, (read.comment or "").strip(), (read.expected or "").strip())
    return found[1] or answer_id_of(found[2]), verdict


def read_verdicts_page(query: Mapping[str, str]) -> tuple[int, str | None]:
    """Read which page of the verdicts is asked for: its size, and the answer after which it begins.

    Raises:
        BadRequest: a parameter is wrong; says what it accepts.
    """
    limit, after = read_limit(query, MOST_LISTED), query.get("after")
    if after and not re.fullmatch("[0-9a-f]{32}", after):
        raise BadRequest("after: should be as in the Link header of the page before.")
    return limit, after or None


def verdict_json(answer_id: str, verdict: Verdict) -> dict[str, Json]:
    """Make the JSON of a verdict, as its caller gets it back."""
    return {"answer_id": answer_id, **msgspec.structs.asdict(verdict)}


def judged_json(judged: Judged) -> dict[str, Json]:
    """Make the JSON of a verdict with its answer. Who asked is not in it."""
    answer = judged.answer
    asked: dict[str, Json] = {"question": answer.question, "answer": answer.text, "sources": [*answer.sources]}
    return verdict_json(answer.id, judged.verdict) | asked
