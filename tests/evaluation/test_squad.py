"""A data set in the format of SQuAD as questions for `make eval`."""

from pathlib import Path
from typing import Any

from evaluation.questions import read
from evaluation.squad import convert

DATA: list[dict[str, Any]] = [
    {
        "title": "Leave",
        "paragraphs": [
            {
                "context": "Leave is 30 days.",
                "qas": [
                    {
                        "id": "a",
                        "question": "How long is leave?",
                        "answers": [{"text": "30 days"}, {"text": "30 days"}],
                    },
                    {"id": "b", "question": "Who grants leave?", "answers": []},
                ],
            }
        ],
    }
]


def test_questions_name_their_paragraph_and_impossible_ones_are_silent(tmp_path: Path) -> None:
    convert(DATA, tmp_path / "made")
    known, silent = read(tmp_path / "made" / "questions.jsonl")
    assert (list(known.answers), list(known.sources), known.category) == (["30 days"], ["0.md"], "Leave")
    assert silent.silent
    assert (tmp_path / "made" / "documents" / "0.md").read_text() == "Leave is 30 days."
