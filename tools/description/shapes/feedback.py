"""Types of the routes of verdicts on answers."""

from typing import Annotated, TypedDict

from pydantic import Field

from shared.verdicts import Rating
from tools.description.shapes.parts import Time


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
