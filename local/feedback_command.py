"""Write what callers said of answers as questions for `make eval`: `python -m local.feedback_command OUT`.

What was judged good becomes a question with its known answers and sources, and what was judged bad one with what was
expected. Beside OUT is a list of the answers to work on, in Markdown. It reads the store that the settings name.

Exit codes: 0 if there is a question or something to work on; 1 if not; 2 if the command or the settings are wrong.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypedDict

import msgspec

from local import HostError
from local.settings_of_commands import read_settings
from shared.citations import CITATION
from shared.errors import NotConfigured, SwitchboardError
from shared.parts import open_history
from shared.verdicts import MOST_LISTED, Judged, VerdictStore


class Line(TypedDict):
    """A line of the questions, with the keys that docs/evaluation.md describes."""

    id: str
    question: str
    answers: list[str]
    sources: list[str]
    category: str


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.feedback_command", description=__doc__)
    parser.add_argument("out", type=Path, help="the file of questions, such as questions.jsonl")
    out: Path = parser.parse_args().out
    try:
        _, verdicts = open_history(read_settings())
        judged = asyncio.run(_read(verdicts)) if verdicts else []
    except (HostError, NotConfigured, SwitchboardError) as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    if not judged:
        print("Nobody has judged an answer yet, or no chats are kept here (HISTORY_BACKEND).")
        return 1
    return _write(out, judged)


async def _read(verdicts: VerdictStore) -> list[Judged]:
    judged, after = list[Judged](), None
    async with aclosing(verdicts):
        while page := await verdicts.page(MOST_LISTED, after):
            judged += page
            after = page[-1].answer.id
    return judged


def _write(out: Path, judged: Sequence[Judged]) -> int:
    lines = questions(judged)
    todo = [one for one in judged if one.verdict.rating == "down" or not one.answer.alone]
    work = out.with_suffix(".work.md")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        work.write_text("\n".join(_work(todo)), encoding="utf-8")
    except OSError as fault:
        sys.stderr.write(f"{out} cannot be written: {fault.strerror}.\n")
        return 2
    good = sum(one.verdict.rating == "up" for one in judged)
    print(f"{len(judged):,} answers were judged: {good:,} good, {len(judged) - good:,} bad.")
    print(f"{len(lines):,} questions -> {out}   (make eval QUESTIONS={out})")
    print(f"{len(todo):,} answers to work on -> {work}")
    return 0


def questions(judged: Iterable[Judged]) -> list[Line]:
    """Make the questions: each once, also if several answers to it were judged.

    A question that was asked after others says little alone, and nobody knows what a bad answer should have said unless
    its reader has said so: both are only in the list of what to work on.
    """
    lines: dict[str, Line] = {}
    for one in judged:
        answers = _known_answers(one)
        if not (answers and one.answer.alone and one.answer.question.strip()):
            continue
        is_good = one.verdict.rating == "up"
        line = lines.setdefault(
            " ".join(one.answer.question.split()).casefold(),
            Line(id=one.answer.id, question=one.answer.question, answers=[], sources=[], category="good"),
        )
        line["answers"] = [*dict.fromkeys((*line["answers"], *answers))]
        line["sources"] = [*dict.fromkeys((*line["sources"], *(one.answer.sources if is_good else ())))]
        if not is_good:
            line["category"] = "bad"
    return [*lines.values()]


def _known_answers(judged: Judged) -> list[str]:
    """Return what a right answer says: what was expected, else what a good one said in the words of its sources.

    A good answer in words of its own is a known answer as a whole.
    """
    if judged.verdict.expected:
        return [judged.verdict.expected]
    if judged.verdict.rating == "down":
        return []
    whole = " ".join(CITATION.sub(" ", judged.answer.text).split())
    return [*judged.answer.statements] or ([whole] if whole else [])


def _work(todo: Iterable[Judged]) -> Iterator[str]:
    """Yield the lines of the list of what to work on."""
    yield "# Answers to work on\n"
    for one in todo:
        answer, verdict = one.answer, one.verdict
        yield f"## {' '.join(answer.question.split())}\n"
        yield f"- judged {'good' if verdict.rating == 'up' else 'bad'} on {verdict.time}, answer `{answer.id}`"
        if not answer.alone:
            yield "- asked after others or with files: for `make eval`, write a question that stands alone"
        for name, text in (("Comment", verdict.comment), ("Expected", verdict.expected), ("Answer", answer.text)):
            if text:
                yield f"\n{name}:\n\n" + "\n".join(f"> {line}" for line in text.splitlines())
        yield f"\nCited: {', '.join(f'`{name}`' for name in answer.sources) or 'nothing'}\n"


if __name__ == "__main__":
    sys.exit(main())
