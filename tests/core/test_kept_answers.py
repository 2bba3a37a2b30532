"""What is kept of an answer so that it can be judged."""

import pytest

from shared.chat_types import ChatRequest, ChatState, Message, Role
from shared.events import DataPoint
from shared.verdicts import kept_answer

POINTS = (
    DataPoint("plan.pdf#page=3", "The Standard plan pays\n80 % of dental care. Implants are extra."),
    DataPoint("dental.md", "Implants are paid after two years."),
)
QUESTION = Message(Role.USER, "What about teeth?")
BEFORE = (Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello."))


def test_the_sources_are_those_that_are_cited_and_were_found() -> None:
    text = "It pays [x.pdf]. **Implants** wait [dental.md]. Again [dental.md], [plan.pdf](http://x)."
    kept = kept_answer(ChatRequest((QUESTION,), chat=ChatState("s"), answer_id="1"), text, POINTS)
    assert (kept.id, kept.question, kept.text, kept.chat) == ("1", "What about teeth?", text, "s")
    assert kept.sources == ("dental.md",)


def test_statements_are_sentences_and_lines_that_a_cited_source_has_word_for_word() -> None:
    text = (
        '- "The standard plan pays 80 % of dental care." [plan.pdf#page=3]\n'
        "Implants are extra. So it costs more [plan.pdf#page=3].\n> Implants are paid after two years.\n"
        "Teeth: Implants are extra [plan.pdf#page=3]. No."
    )
    kept = kept_answer(ChatRequest((QUESTION,)), text, POINTS)
    assert kept.statements == (
        "The standard plan pays 80 % of dental care.",
        "Implants are extra.",
        "Implants are extra",
    )


@pytest.mark.parametrize(
    ("request_", "alone"),
    [
        (ChatRequest((QUESTION,)), True),
        (ChatRequest((*BEFORE, QUESTION)), False),
        (ChatRequest((*BEFORE, QUESTION), single_turn=True), True),
        (ChatRequest((QUESTION,), steps=(Message(Role.TOOL, "1"),)), False),
    ],
)
def test_a_question_after_others_does_not_stand_alone(request_: ChatRequest, alone: bool) -> None:
    assert kept_answer(request_, "", ()).alone is alone


def test_what_is_kept_has_bounds() -> None:
    many = tuple(DataPoint(f"{n}.md", "word " * 9_000) for n in range(60))
    text = "".join(f"{'word ' * 90}[{n}.md]\n" for n in range(60))
    kept = kept_answer(ChatRequest((Message(Role.USER, "?" * 90_000),)), text * 20, many)
    assert (len(kept.question), len(kept.text), len(kept.sources)) == (4_000, 8_000, 50)
    assert sum(map(len, kept.statements)) <= 20 * 500
