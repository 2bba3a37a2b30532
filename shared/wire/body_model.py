"""What the models of request bodies share: how they are read, and sentences for whoever sent what cannot be."""

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.chat_types import Json
from shared.errors import BadRequest

_IN_OUR_WORDS = {
    "missing": "is missing",
    "too_short": "is empty",
    "list_type": "should be a list",
    "model_type": "should be an object",
}
"""By pydantic's type of problem, where its own sentence says less to who sent it."""
_MOST_PROBLEMS = 5
"""Told at once; the rest shows when these are mended."""


class BodyModel(BaseModel):
    """A body, or an object in one. A value of another type is wrong, and never converted; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    @classmethod
    def read(cls, body: Mapping[str, Json]) -> Self:
        """Validate a body.

        Raises:
            BadRequest: names each key that is wrong and what it accepts.
        """
        try:
            return cls.model_validate(body)
        except ValidationError as invalid:
            raise _refusal(invalid) from None


def _refusal(invalid: ValidationError) -> BadRequest:
    """The error that names each key that is wrong and what it accepts; never quotes the body."""
    problems = [
        _sentence(error["loc"], _IN_OUR_WORDS.get(error["type"], error["msg"]))
        for error in invalid.errors()[:_MOST_PROBLEMS]
    ]
    return BadRequest(" ".join(problems))


def _sentence(location: tuple[int | str, ...], problem: str) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    problem = problem.removeprefix("Input ").removeprefix("Value error, ")
    return f"{path or 'The body'}: {problem}."
