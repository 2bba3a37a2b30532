"""The questions: JSON Lines, read line by line, so that a file of any length takes little memory."""

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

from evaluation import EvaluationError

LONGEST_LINE = 1_000_000
"""Bytes."""
MOST_PROBLEMS = 20
"""Wrong lines that are named; a file with more is the wrong file."""
_LONGEST_ID = 200
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
"""Of the files that Windows PowerShell's `>` and `Out-File` write."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the file."""

    id: str
    """Unique in the file."""
    question: str
    """What is asked."""
    answers: tuple[str, ...] = ()
    """Accepted answers, short, in the words of the documents; one of them is enough."""
    sources: tuple[str, ...] = ()
    """The sources that hold the answer: a file, or a page of it as `file.pdf#page=3`."""
    language: str = ""
    """Of the question, a BCP 47 tag such as `de`."""
    category: str = ""
    """Any word to group the report by."""
    silent: bool = False
    """Whether the documents say nothing about it, so that a good answer says so."""
    facts: tuple[tuple[str, ...], ...] = ()
    """Facts that all have to be said, such as both of a comparison, each with its accepted answers."""
    before: tuple[str, ...] = ()
    """The questions of the conversation before this one, which are asked first."""

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """What has to be said: each fact, as one of its accepted answers."""
        return (*((self.answers,) if self.answers else ()), *self.facts)


_KEYS = frozenset(Question.__struct_fields__)


@dataclass(slots=True)
class Contents:
    """What a first reading of the file found."""

    count: int = 0
    """Questions."""
    digest: str = ""
    """SHA-256 of the file."""
    unused_keys: Counter[str] = field(default_factory=Counter[str])
    """Keys that mean nothing here, with the number of lines that have them."""
    unmeasured: int = 0
    """Questions with neither answers nor sources that are not silent."""
    sources: dict[str, int] = field(default_factory=dict[str, int])
    """Each source that questions name, with the number of the first line."""


def check(path: Path) -> Contents:
    """Read the whole file once, before anything is asked.

    Raises:
        EvaluationError: it cannot be read, has no question, or has wrong lines; names up to 20 of them.
    """
    contents, problems, first_lines = Contents(), list[str](), dict[str, int]()
    digest = hashlib.sha256()
    for number, raw in _lines(path):
        digest.update(raw)
        if not raw.strip():
            continue
        try:
            question, keys = _parse(raw)
            wrong = _repeated(question, first_lines)
        except ValueError as fault:
            question, keys, wrong = None, set[str](), str(fault)
        if question is None or wrong:
            problems.append(f"line {number}: {wrong}.")
            if len(problems) == MOST_PROBLEMS:
                problems.append("There may be more.")
                break
            continue
        first_lines[question.id] = number
        contents.count += 1
        contents.unused_keys.update(keys - _KEYS)
        contents.unmeasured += not (question.wanted or question.sources or question.silent)
        for source in question.sources:
            contents.sources.setdefault(source, number)
    if problems:
        raise EvaluationError("\n".join([f"{path} has wrong lines:", *problems]))
    if not contents.count:
        raise EvaluationError(f"{path} has no question. Each line is a JSON object; see docs/evaluation.md.")
    contents.digest = digest.hexdigest()
    return contents


def read(path: Path) -> Iterator[Question]:
    """Yield the questions of a file that `check` has read."""
    for _, raw in _lines(path):
        if raw.strip():
            yield _parse(raw)[0]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line in UTF-8 with its number; of one that is too long, as much as shows that."""
    try:
        with path.open("rb") as file:
            if file.peek(2)[:2] in _UTF16_BOMS:
                text = io.TextIOWrapper(file, "utf-16", newline="\n")
                pieces = iter(lambda: text.readline(LONGEST_LINE + 1).encode("utf-8"), b"")
            else:
                file.seek(len(_UTF8_BOM) if file.peek(3).startswith(_UTF8_BOM) else 0)
                pieces = iter(lambda: file.readline(LONGEST_LINE + 1), b"")
            for number, line in enumerate(pieces, 1):
                yield number, line
                rest = line
                while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                    rest = next(pieces, b"")
    except UnicodeDecodeError as fault:
        raise EvaluationError(f"{path} begins as UTF-16 and is not: {fault.reason}.") from fault
    except OSError as fault:
        raise EvaluationError(f"{path} cannot be read: {fault.strerror}.") from fault


def _repeated(question: Question, first_lines: Mapping[str, int]) -> str:
    earlier = first_lines.get(question.id)
    return f"the id {question.id!r} is that of line {earlier} already" if earlier else ""


def _parse(raw: bytes) -> tuple[Question, set[str]]:
    """Read a line; return the question and all keys.

    Raises:
        ValueError: it is no question; says why.
    """
    if len(raw) > LONGEST_LINE:
        raise ValueError(f"it has more than {LONGEST_LINE:,} bytes")
    try:
        whole = msgspec.json.decode(raw, type=dict[str, object])
        if isinstance(whole.get("id"), int) and not isinstance(whole["id"], bool):
            whole["id"] = str(whole["id"])
        question = msgspec.convert(whole, Question)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; save the file as UTF-8") from None
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    except msgspec.ValidationError as wrong:
        raise ValueError(f"{wrong}".replace("Object missing", "it lacks the")) from None
    except msgspec.DecodeError as wrong:
        raise ValueError(f"it is no JSON object ({wrong})") from None
    if wrong := _problem(question):
        raise ValueError(wrong)
    return question, set(whole)


def _problem(question: Question) -> str:
    if not question.question.strip() or not question.id:
        return "its `id` or `question` is empty"
    if len(question.id) > _LONGEST_ID:
        return f"its `id` has more than {_LONGEST_ID} characters"
    if question.silent and (question.wanted or question.sources):
        return "it is `silent` and has `answers`, `facts` or `sources`, which cannot both be"
    every = (*question.answers, *question.sources, *question.before, *chain.from_iterable(question.facts))
    if not all(question.facts) or not all(text.strip() for text in every):
        return "one of its `answers`, `facts`, `sources` or `before` is empty"
    return ""
