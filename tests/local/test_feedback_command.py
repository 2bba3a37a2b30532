"""`make feedback`: verdicts become questions that `make eval` reads, and a list of what to work on."""

import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.questions import Question, check, read
from local.feedback_command import questions
from shared.verdicts import Judged, KeptAnswer, Verdict, answer_id_of, new_turn_id
from shared.verdicts.sqlite_verdicts import SqliteVerdicts
from tests.local.running_host import REPOSITORY

TIME = "2026-11-25T08:00:00.000Z"
EYES = KeptAnswer("1", "Eye exams?", "Yes: one a year [eye.md].", "", ("eye.md",), ("one a year",))

OWN_WORDS = KeptAnswer("2", "Q?", "As I say [a.md].", sources=("a.md",))


def judged(rating: str, *, expected: str = "", answer: KeptAnswer = EYES) -> Judged:
    return Judged(answer, Verdict("up" if rating == "up" else "down", TIME, "why", expected))


@pytest.mark.parametrize(
    ("verdicts", "lines"),
    [
        ([judged("up")], [(("one a year",), ("eye.md",), "good")]),
        ([judged("up", expected="1")], [(("1",), ("eye.md",), "good")]),
        ([judged("down", expected="1")], [(("1",), (), "bad")]),
        ([judged("down")], []),
        ([judged("up"), judged("down", expected="1")], [(("one a year", "1"), ("eye.md",), "bad")]),
        ([judged("up", answer=OWN_WORDS)], [(("As I say .",), ("a.md",), "good")]),
        ([judged("up", answer=KeptAnswer("2", "And then?", "So.", alone=False))], []),
        ([judged("up", answer=KeptAnswer("2", " ", "So."))], []),
    ],
)  # fmt: skip
def test_what_was_judged_becomes_questions(
    verdicts: list[Judged], lines: list[tuple[tuple[str, ...], tuple[str, ...], str]]
) -> None:
    made = questions(verdicts)
    assert [(tuple(one["answers"]), tuple(one["sources"]), one["category"]) for one in made] == lines


async def test_the_command_writes_a_file_that_the_evaluation_reads_and_what_to_work_on(tmp_path: Path) -> None:
    store = SqliteVerdicts(tmp_path / "verdicts.sqlite")
    eyes, teeth = (answer_id_of(new_turn_id()) for _ in range(2))
    await store.add("ada", KeptAnswer(eyes, "Eye exams?", "One [eye.md].", "", ("eye.md",), ("One",)))
    await store.add("ben", KeptAnswer(teeth, "And teeth?\u2028", "None.", alone=False))
    command = [sys.executable, "-m", "local.feedback_command", tmp_path / "new" / "out.jsonl"]
    environment = {"DATA_DIR": str(tmp_path), "PATH": ""}

    def run() -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    code, printed = run()
    assert (code, "Nobody has judged an answer yet" in printed) == (1, True)
    await store.judge("ada", eyes, Verdict("up", TIME))
    await store.judge("ben", teeth, Verdict("down", TIME, "Not what I asked", "Two years"))
    code, printed = run()
    assert (code, "1 good, 1 bad" in printed) == (0, True)
    out = tmp_path / "new" / "out.jsonl"
    assert check(out).unused_keys.total() == 0
    assert [*read(out)] == [Question(eyes, "Eye exams?", ("One",), ("eye.md",), category="good")]
    work = (tmp_path / "new" / "out.work.md").read_text(encoding="utf-8")
    assert all(text in work for text in ("And teeth?", "Not what I asked", "Two years", "> None.", "stands alone"))
    assert "Eye exams?" not in work
