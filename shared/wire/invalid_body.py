"""What is wrong with a body, as pydantic found it, in sentences for whoever sent it."""

from pydantic import ValidationError

from shared.errors import BadRequest

_MOST_PROBLEMS = 5
"""Told at once; the rest shows when these are mended."""


def refusal(invalid: ValidationError) -> BadRequest:
    """The error that names each key that is wrong and what it accepts; never quotes the body."""
    return BadRequest(" ".join(_sentence(error["loc"], error["msg"]) for error in invalid.errors()[:_MOST_PROBLEMS]))


def _sentence(location: tuple[int | str, ...], problem: str) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    problem = problem.removeprefix("Input ").removeprefix("Value error, ")
    return f"{path or 'The body'}: {problem}."
