"""The sample documents, as a newcomer's first index holds them."""

from pathlib import Path

import pytest

from local.folder import FoundFile, list_folder
from shared.chat_types import Passage
from shared.reading.readers import READERS
from tests.ingestion.split_here import split
from tests.reading.sources import read_pages

SAMPLES = Path(__file__).parents[2] / "samples" / "documents"


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    listing = [*list_folder(SAMPLES, [], READERS)]
    assert all(isinstance(found, FoundFile) for found in listing)
    return [
        passage
        for found in listing
        if isinstance(found, FoundFile)
        for passage in split(found.sourcefile, read_pages(found.path.read_bytes(), found.path.suffix))
    ]


def test_every_sample_gives_passages_and_the_formats_of_texts_have_samples(passages: list[Passage]) -> None:
    files = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}
    assert {passage.sourcefile for passage in passages} == files
    assert {passage.category for passage in passages} == {None, "health", "leave", "money"}
    assert {Path(file).suffix for file in files} >= {".pdf", ".md", ".html", ".txt", ".docx"}


@pytest.mark.parametrize(
    ("sentence", "sourcepage"),
    [
        (
            "Yes, the Standard plan covers eye exams: it pays for one eye exam in each plan year, in full.",
            "health/eye-and-dental-care.md",
        ),
        ("After five years of service you get 30 vacation days a year.", "leave/vacation-and-leave.html"),
        (
            "Bei Krankheit zahlt Lindenhall den vollen Lohn sechs Wochen lang weiter (Lohnfortzahlung).",
            "leave/Urlaubsregelung.md",
        ),
        (
            "Nach fünf Jahren im Unternehmen haben Sie Anspruch auf 30 Urlaubstage im Jahr.",
            "leave/Urlaubsregelung.md",
        ),
        (
            "The monthly premium of the Standard plan is 85 euros for an employee alone, and 210 euros with family.",
            "health/health-plans-handbook.pdf#page=1",
        ),
        (
            "The deductible of the Standard plan is 750 euros a year for one person.",
            "health/health-plans-handbook.pdf#page=2",
        ),
        (
            "The Standard and Plus plans cover 30 sessions of psychotherapy in a plan year.",
            "health/health-plans-handbook.pdf#page=3",
        ),
        ("A claim must be made within 90 days of the treatment.", "health/health-plans-handbook.pdf#page=4"),
        (
            "You can appeal against a refused claim within 180 days of the refusal.",
            "health/health-plans-handbook.pdf#page=5",
        ),
        (
            "Lindenhall matches your contribution to the retirement plan in full, up to 5 % of your gross salary.",
            "money/retirement-plan.docx",
        ),
        ("The wellness allowance is up to 40 euros a month.", "money/allowances.txt"),
        ("Open enrolment for the health plans is from 1 to 30 November each year.", "benefits-at-a-glance.md"),
    ],
)
def test_each_answer_is_one_sentence_with_its_place(passages: list[Passage], sentence: str, sourcepage: str) -> None:
    assert {passage.sourcepage for passage in passages if sentence in passage.content} == {sourcepage}


def test_tables_and_umlauts_arrive_whole(passages: list[Passage]) -> None:
    text = "\n".join(passage.content for passage in passages)
    assert "|  | Basic | Standard | Plus |\n| --- | --- | --- | --- |\n| Monthly premium" in text
    assert "| Annual deductible for one person | 1,500 | 750 | 250 |" in text
    assert "| More than five years | 30 |" in text
    assert "| 8 % | 5 % | 13 % |" in text
    assert "maßgeblich ist im Zweifel diese deutsche Fassung" in text
    assert "Größere Pausen" in text
    assert "<nav>" not in text
    assert "document.title" not in text
