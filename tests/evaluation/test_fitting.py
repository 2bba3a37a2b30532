"""Weights of the built-in model that are fitted to questions whose answers are known."""

import json
from pathlib import Path

import pytest

from evaluation import fitting
from evaluation.questions import Question
from shared.chat_models import ModelRequest
from shared.chat_models.extractive import relevance
from shared.chat_types import Passage
from tests.small_index import write_index

QUESTION = "What does the ferry cost?"
TEXT = "The garden is open. The ferry costs 7 euros. The canteen is closed."


def case(wanted: str) -> fitting.Case:
    source = Passage("page.md", TEXT, "page.md", "page.md")
    statements = relevance.read_sources([source])
    asked = relevance.weighted(QUESTION, statements, {})
    features = [*relevance.statement_features(QUESTION, statements, asked)]
    question = Question("1", QUESTION, answers=(wanted,)) if wanted else Question("1", QUESTION, silent=True)
    return fitting.Case(question, ModelRequest((), QUESTION, (source,)), statements, features, asked)


def test_what_tells_the_sentence_with_the_answer_from_others_gets_a_weight() -> None:
    assert fitting.fit_statements([case("7 euros")])["share"] > 1
    assert fitting.fit_statements([case("open")])["share"] < 0


def test_a_decision_is_surer_where_questions_of_its_kind_were_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "WEIGHTS", dict(relevance.WEIGHTS))
    sure, unsure = (fitting.fit_decision([case(wanted) for wanted in said]) for said in (["7 euros"], [""]))
    assert sure["sure"] > 0 > unsure["sure"]


async def test_each_question_becomes_a_case_with_what_the_model_was_given(tmp_path: Path) -> None:
    await write_index(tmp_path, [Passage("1", TEXT, "page.md", "page.md")])
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"id": "1", "question": QUESTION, "answers": ["7 euros"]}) + "\n")
    (made,) = await fitting.cases_of(file, str(tmp_path), "off")
    assert [one.text for one in made.statements] == TEXT.replace(". ", ".|").split("|")
    assert [word.text for word, _ in made.asked] == ["ferry", "cost"]
    assert fitting.fit_statements([made])["share"] > 1


def test_weights_are_written_beside_what_they_mean() -> None:
    lines = fitting.lines_with({"share": 1.5})
    assert "share: 1.50" in lines
    assert sum(line.startswith("//") for line in lines) > len(relevance.WEIGHTS) / 2
