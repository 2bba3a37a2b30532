"""The prompts' order: what stays the same comes first, where a service's prompt cache can serve it."""

from copy import replace
from itertools import pairwise, takewhile
from typing import Any

import pytest

from shared.chat_types import ChatRequest, FileText, Message, Overrides, Role
from shared.core.prompts import answer_prompt, rewrite_prompt

PLAN, LEAVE = "plan.pdf#page=3: The plan pays 80 % of dental care.", "leave.md: Vacation is 30 days a year."
FILE = FileText("contract.pdf", "This contract begins in May. " * 40)


def asked(*contents: str, files: tuple[FileText, ...] = (), **overrides: Any) -> ChatRequest:
    """A conversation in which the user begins; the files came with the first message."""
    roles = [Role.ASSISTANT if number % 2 else Role.USER for number in range(len(contents))]
    first, *others = [Message(role, content) for role, content in zip(roles, contents, strict=True)]
    messages = (replace(first, files=files), *others)
    return ChatRequest(messages, replace(Overrides(), **overrides))


def prompt(request: ChatRequest, *sources: str) -> tuple[Message, ...]:
    return answer_prompt(request, request.messages[:-1], sources)


def written(messages: tuple[Message, ...]) -> str:
    return "".join(f"<{message.role}>{message.text}" for message in messages)


def beginning(one: str, other: str) -> str:
    """What both begin with."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"suggest_followup_questions": True},
        {"language": "fr"},
        {"prompt_template": ">>>Be brief."},
        {"suggest_followup_questions": True, "language": "fr", "prompt_template": "Be brief."},
    ],
    ids=str,
)
@pytest.mark.parametrize("files", [(), (FILE,)], ids=["alone", "with a file"])
def test_two_questions_have_the_whole_system_prompt_in_common(
    overrides: dict[str, Any], files: tuple[FileText, ...]
) -> None:
    one = prompt(asked("Is it paid?", files=files, **overrides), PLAN)
    other = prompt(asked("How long is it?", files=files, **overrides), LEAVE)
    assert one[0].role is Role.SYSTEM
    assert beginning(written(one), written(other)).startswith(written(one[:1]))


def test_each_further_wish_of_a_request_comes_after_those_that_more_requests_share() -> None:
    wishes: list[dict[str, Any]] = [
        {},
        {"suggest_followup_questions": True},
        {"suggest_followup_questions": True, "language": "fr"},
        {"suggest_followup_questions": True, "language": "fr", "files": (FILE,)},
    ]
    for fewer, more in pairwise(prompt(asked("Is it paid?", **wish))[0].text for wish in wishes):
        assert more.startswith(f"{fewer}\n\n")


def test_the_next_turn_begins_with_all_of_the_last_one_but_its_question_with_the_sources() -> None:
    last = asked("What is it?", "A plan.", "Is it paid?")
    following = asked("What is it?", "A plan.", "Is it paid?", "Yes, 80 %.", "And glasses?")
    shared = beginning(written(prompt(last, PLAN)), written(prompt(following, LEAVE)))
    assert shared.startswith(written((*prompt(last)[:1], *last.messages[:2])))


def test_a_file_is_the_same_beginning_of_every_turn_that_it_is_in() -> None:
    one = prompt(asked("What is it?", files=(FILE,)), PLAN)
    other = prompt(asked("When does it begin?", files=(FILE,)), LEAVE)
    following = prompt(asked("What is it?", "A contract.", "When does it begin?", files=(FILE,)), LEAVE)
    for later in (other, following):
        assert str(FILE) in beginning(written(one), written(later))


def test_every_rewriting_begins_alike_and_goes_on_from_the_last_one() -> None:
    first = asked("Is it paid?", "Yes.", "And glasses?")
    following = asked("Is it paid?", "Yes.", "And glasses?", "No.", "And why?")
    one, other = (written(rewrite_prompt(request, request.messages[:-1])) for request in (first, following))
    assert other.startswith(one)
