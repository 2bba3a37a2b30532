"""An answer is compared with its sources by figures and words: what it lacks is added, what nobody says is marked."""

import pytest

from shared.chat_types import FileText, Message, Passage, Role
from shared.core.support import support_of

SOURCES = [
    Passage(
        "1", "A crown is paid by Plus at 70 %, up to 1,200 euros, from the year 2024.", "plan.pdf#page=3", "plan.pdf"
    ),
    Passage("2", "A crown is paid by Standard at 50 %, up to 800 euros.", "dental.md", "dental.md"),
    Passage("3", "Vacation is 30 days; the canteen card has 4.50 euros a day.", "leave.md", "leave.md"),
    Passage("4", "The vacation of 30 days may be split.", "faq.md", "faq.md"),
]
type Found = tuple[str, bool]
NOTHING, MISSING = ("", False), ("", True)


@pytest.mark.parametrize(
    ("answer", "question", "found"),
    [
        ("Plus pays 70 % of a crown.", "What of crowns?", ("plan.pdf#page=3", False)),
        ("Up to 1.200 euros for a crown.", "What of crowns?", ("plan.pdf#page=3", False)),
        ("The canteen card has 4,5 euros.", "How much is on it?", ("leave.md", False)),
        ("1. Plus pays 70 % of a crown.\n2. And euros up to 1200.", "And crowns?", ("plan.pdf#page=3", False)),
        ("You have 30 days of vacation.", "How long is it?", NOTHING),  # two sources have it
        ("In 2024 crowns are paid.", "What was paid in 2024?", NOTHING),  # the figure is the question's
        ("Penguins swim 70 miles through antarctic oceans.", "Penguins?", NOTHING),  # a figure alone is chance
        ("You get 95 euros for it.", "What do I get?", MISSING),
        ("Yes, the company offers stock options.", "Does the company offer stock options?", MISSING),
        ("The company does not offer stock options.", "Does it offer them?", NOTHING),
        ("Das weiß ich nicht.", "Aktien?", NOTHING),
        ("A crown is paid by the plan.", "Crowns?", NOTHING),
        ("Yes.", "Crowns?", NOTHING),
        ("", "Crowns?", NOTHING),
    ],
)
def test_an_answer_without_a_citation(answer: str, question: str, found: Found) -> None:
    assert support_of(answer, [Message(Role.USER, question)], SOURCES, cites=False) == found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Plus pays 70 % [dental.md].", NOTHING),
        ("It pays 950 euros, or 95 % [dental.md].", MISSING),
        ("It pays half and 120 in all: 70 and 50 [dental.md].", NOTHING),
        ("Stock options are offered [plan.pdf#page=3].", NOTHING),
        ("You have 6 months [plan.pdf#page=3].", NOTHING),  # where the source says: six
    ],
)
def test_an_answer_that_cites_is_marked_only_if_no_source_has_one_of_its_figures(answer: str, found: Found) -> None:
    assert support_of(answer, [Message(Role.USER, "What of it?")], SOURCES, cites=True) == found


def test_what_the_conversation_and_its_files_say_may_be_said_again() -> None:
    file = FileText("offer.txt", "The roof costs 9400 euros.")
    asked = [
        Message(Role.USER, "What does it cost?", files=(file,)),
        Message(Role.ASSISTANT, "The garden costs 77 euros."),
        Message(Role.USER, "And all of it?"),
    ]
    for answer in ("The roof costs 9,400 euros.", "The garden costs 77 euros."):
        assert support_of(answer, asked, SOURCES, cites=False) == NOTHING
    assert support_of("The fence costs 78 euros.", asked, SOURCES, cites=False) == MISSING
