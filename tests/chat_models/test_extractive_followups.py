"""Follow-up questions of the built-in model."""

import re

import pytest

from tests.chat_models.extractive_asked import EYES, URLAUB, ask, said


async def test_brackets_of_a_source_do_not_read_as_followup_questions() -> None:
    got = await ask("What does shift mean?", said("The shift is written x << 2 >> 1 in the manual."))
    assert "<<" not in got.text


async def test_followup_questions_are_about_other_parts_of_the_sources() -> None:
    got = await ask("What does the Standard plan pay for glasses?", EYES, want_followups=True)
    assert got.text.endswith(
        " [eyes.md]\n<<What do the documents say about “How to be paid back”?>>"
        "\n<<What do the documents say about “Laser surgery”?>>"
    )


async def test_followup_questions_are_in_the_language_of_the_question_and_not_asked_before() -> None:
    got = await ask("Wie viel Urlaub habe ich?", URLAUB, want_followups=True, earlier=["Was gilt bei einer Kündigung?"])
    assert "zu „Elternzeit“?>>" in got.text
    assert "„Kündigung“" not in got.text


async def test_followup_questions_can_be_answered_from_the_sources() -> None:
    got = await ask("What does the Standard plan pay for glasses?", EYES, URLAUB, want_followups=True)
    questions = [line.strip("<>") for line in got.text.splitlines()[1:]]
    assert len(questions) == 3
    for question in questions:
        assert "[" in (await ask(question, EYES, URLAUB)).text


async def test_none_are_proposed_unasked() -> None:
    assert "<<" not in (await ask("What does the Standard plan pay for glasses?", EYES)).text


@pytest.mark.parametrize(
    ("question", "text", "topics"),
    [
        (
            "When does the canteen open?",
            "The canteen opens at noon. Visitors need a ticket for the garden. Tickets are sold at the garden gate.",
            ["garden", "ticket"],  # the most frequent words first
        ),
        (
            "Wann öffnet das Büro?",
            "Das Büro öffnet um acht. Ein Parkplatz kostet 40 Euro. Die Parkkarte gibt es am Empfang.",
            ["Parkplatz", "Parkkarte", "Empfang"],
        ),
        (
            "When does the canteen open?",
            "the canteen opens at noon. „Marsh Ferry“ is for all.",  # a name after a mark is no sentence's first word
            ["Marsh Ferry"],
        ),
    ],
)
async def test_followup_questions_come_from_documents_without_headings_too(
    question: str, text: str, topics: list[str]
) -> None:
    got = await ask(question, said(text), want_followups=True)
    questions = [line.strip("<>") for line in got.text.splitlines()[1:]]
    assert [re.findall("[“„](.+)[”“]", one) for one in questions] == [[topic] for topic in topics]
    for one in questions:
        assert "[" in (await ask(one, said(text))).text
