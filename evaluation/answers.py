"""The answers so far: JSON Lines, one an answer, so that a run that ends early goes on where it was."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from evaluation import EvaluationError
from evaluation.judge import Judgement
from evaluation.questions import Question


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of a question."""

    question: Question
    """As asked."""
    measures: dict[str, float] = {}
    """By name, see `measures.py`."""
    text: str = ""
    """The answer, cut to what a report shows."""
    found: tuple[str, ...] = ()
    """Names of the sources that were found, the best first."""
    cited: tuple[str, ...] = ()
    """Those that the answer cites."""
    model: str = ""
    """What answered; empty: not known."""
    prompt: str = ""
    """The version of its prompt; empty: not known."""
    judgement: Judgement | None = None
    """The judge's."""
    unjudged: str = ""
    """Why there is no judgement, where there is a judge."""
    judge_tokens: tuple[int, int] = (0, 0)
    """What judging took."""
    problem: str = ""
    """Why there is no answer."""


class _Head(msgspec.Struct, frozen=True):
    """The first line: what the answers are to."""

    run: str


class AnswersFile:
    """The file of a run that has not ended.

    Args:
        path: Where it is.
        run: A text that differs for runs whose answers do not belong together.

    Raises:
        EvaluationError: the file is that of another run.
    """

    def __init__(self, path: Path, run: str) -> None:
        self._path = path
        self.done: set[str] = set()
        """Ids of the questions that were answered."""
        encode = msgspec.json.encode
        fresh = path.with_name(f"{path.name}.new")
        with fresh.open("wb") as file:
            file.write(encode(_Head(run)) + b"\n")
            for answered in self._kept(run):
                self.done.add(answered.question.id)
                file.write(encode(answered) + b"\n")
        fresh.replace(path)
        self._file = path.open("ab")

    def _kept(self, run: str) -> Iterator[Answered]:
        """The answers of an earlier run, without what failed, and without a last line that was cut off."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            if _decoded(file.readline(), _Head) != _Head(run):
                raise EvaluationError(
                    f"{self._path} has the answers of a run with other questions or options that did not end. Run that "
                    "again to go on with it, delete the file, or give --out another name."
                )
            for line in file:
                if (answered := _decoded(line, Answered)) and not answered.problem:
                    yield answered

    def append(self, answered: Answered) -> None:
        """Add an answer; after that it outlives this process."""
        self._file.write(msgspec.json.encode(answered) + b"\n")
        self._file.flush()

    def read(self) -> Iterator[Answered]:
        """All answers, in the order in which they came."""
        with self._path.open("rb") as file:
            file.readline()
            for line in file:
                yield msgspec.json.decode(line, type=Answered)

    def delete(self) -> None:
        """Delete the file: the run has ended."""
        self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _decoded[T](line: bytes, kind: type[T]) -> T | None:
    """A whole line; None: it was cut off, or is of another version."""
    try:
        return msgspec.json.decode(line, type=kind) if line.endswith(b"\n") else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
