"""The routes of feedback, as data."""

from functools import partial
from typing import Annotated, TypedDict

from pydantic import Field

from shared.description.routes import BODY_ERRORS, CALLER_ERRORS, Answer, Parameter, PlainRoute
from shared.description.schemas import Time
from shared.errors import BadRequest, NotAllowed, NotFound, RateLimited
from shared.verdicts import MOST_LISTED, Rating
from shared.wire.feedback_body import FeedbackBody


class Feedback(TypedDict):
    """What a caller says of an answer."""

    answer_id: str
    rating: Rating
    comment: Annotated[str, Field(description="Why; empty if not said.")]
    expected: Annotated[str, Field(description="What a good answer would say; empty if not said.")]
    time: Time


class FeedbackWithAnswer(Feedback):
    """The same, with what was asked and answered."""

    question: str
    answer: str
    sources: Annotated[list[str], Field(description="The sources that the answer cites.")]


class FeedbackPage(TypedDict):
    """What callers said of answers."""

    feedback: list[FeedbackWithAnswer]


_ERRORS = (*CALLER_ERRORS, BadRequest, NotFound, RateLimited)
_route = partial(PlainRoute, tag="feedback")
_LIMIT = Parameter(
    "query",
    "limit",
    "The number of verdicts in a page, at most.",
    Annotated[int, Field(ge=1, le=MOST_LISTED, default=MOST_LISTED)],
)
_AFTER = Parameter("query", "after", "Where the page begins, as the `Link` header of the page before says.")

FEEDBACK_ROUTES = (
    _route(
        "post",
        "feedback",
        "give_feedback",
        "Say whether an answer is good",
        "The id is `context.answer_id`, or the answer's `id` in OpenAI's protocols, or its message's in AG-UI and the "
        "AI SDK. A second time replaces the first.",
        {200: Answer("It replaces what the caller said before.", Feedback), 201: Answer("It is kept.", Feedback)},
        errors=(*_ERRORS, *BODY_ERRORS),
        body=FeedbackBody,
    ),
    _route(
        "get",
        "feedback",
        "list_feedback",
        "List what was said of answers",
        "Of the newest answers first, for those whom `FEEDBACK_READERS` names. If there are more, the header `Link` "
        "names the next page.",
        {200: Answer("What was said, with the answers.", FeedbackPage)},
        (_LIMIT, _AFTER),
        errors=(*_ERRORS, NotAllowed),
    ),
)
"""The routes, in the documents' order."""
