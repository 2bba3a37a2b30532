"""Quotes of the built-in model: which parts of a passage it takes, and how much of it."""

import pytest

from tests.chat_models.extractive_asked import ask, said

WHO = ("visitor", "guest", "driver", "lawyer", "trainee", "doctor", "mayor")


async def test_figures_in_two_columns_are_said_with_the_name_of_their_column() -> None:
    source = said(
        "## Leave\n\n| Years here | Days |\n|---|---|\n| 1 | 25 |\n| 7 | 30 |\n\n## Rooms\n\n7 rooms are blue."
    )
    got = await ask("How many days of leave after 7 years?", source)
    assert "7 – Days: 30." in got.text


async def test_a_title_over_all_columns_is_not_said_with_each_cell() -> None:
    rows = ["| Fees | Fees | Fees |", "|---|---|---|", "| Sale of cars | Sale of cars | 30 euros |"]
    assert (
        "Sale of cars – 30 euros." in (await ask("What is the fee for the sale of cars?", said("\n".join(rows)))).text
    )


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "How long is the notice?",
            "The notice has to be in writing, and it is on the form that the office has.",
            "three months",
        ),
        (
            "Wie lange gilt der Pass?",
            "Der Pass gilt überall, wo ihn die Stelle des Landes auch wirklich kennt.",
            "sechs Jahre",
        ),
    ],
)
async def test_a_number_in_words_answers_how_long(question: str, text: str, answer: str) -> None:
    others = "\n\n".join(f"{text[:-1]} {letter * 3}." for letter in "abcdefghi")
    assert answer in (await ask(question, said(f"{others}\n\n{text[:-1]} for {answer}."))).text


@pytest.mark.parametrize(
    "asked",
    [
        "Is the internship paid?",
        "**I am still at school, and my school pays nothing at all for it. Is the internship paid, and by whom?**",
    ],
)
async def test_a_question_in_a_document_is_the_heading_of_what_answers_it(asked: str) -> None:
    source = said(f"{asked}\n\nYes. You get 900 euros.\n\n**Can I work at home?**\n\nNo. The office is nice.")
    text = (await ask("is the internship paid", source)).text
    assert text.startswith(f"{asked.strip('*')}: Yes. You get 900 euros.")
    assert "office" not in text


async def test_what_a_second_question_is_about_can_stand_in_the_first() -> None:
    visitors = " ".join(f"The notice of a {who} comes by mail and is read by all who sit at the door." for who in WHO)
    talks = " ".join(f"In probation a {who} has a talk with the head of the house." for who in WHO)
    probation = said(f"Probation lasts three months. {talks} In probation the notice is one week.", "b.md")
    question = "How long is probation and what is the notice during it?"
    text = (await ask(question, said(visitors, "a.md"), probation)).text
    assert "three months" in text
    assert "one week" in text


async def test_a_part_that_is_answered_with_another_is_not_said_to_be_missing() -> None:
    source = said("A retreat is for fun, while a conference is for learning.\n\n## Garden\n\nThe garden is open.")
    got = await ask("What is a conference and what is a retreat?", source)
    assert got.text == "A retreat is for fun, while a conference is for learning. [page.md]"


@pytest.mark.parametrize("sentence", ["第{}条规定员工每年可以休假。", "2026年第{}条规定员工每年可以休假。"])
async def test_an_answer_in_a_script_without_spaces_is_no_longer_than_in_others(sentence: str) -> None:
    source = said("".join(sentence.format(number) for number in range(10, 60)))
    assert 20 < len((await ask("员工每年可以休假吗？", source)).text) < 200
