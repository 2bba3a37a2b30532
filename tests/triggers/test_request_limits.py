"""What a request may hold."""

import pytest

from shared.chat_types import ChatRequest, FileText, Message, Overrides, Role
from shared.errors import NotAllowed, TooLarge
from shared.settings import Settings
from shared.turns.accept import check_request

AZURE = {"WEBSITE_SITE_NAME": "func-contoso"}
SIGNED_IN = {"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True"}
QUESTION = Message(Role.USER, "How many days?")


def check(environment: dict[str, str], *messages: Message, prompt_template: str | None = None) -> None:
    check_request(ChatRequest(messages, Overrides(prompt_template=prompt_template)), Settings.read(environment))


def test_a_question_has_a_largest_size_in_tokens() -> None:
    check({}, Message(Role.USER, "four" * 8_000 + "..."))
    with pytest.raises(TooLarge, match="some 8,001 tokens, and this app takes 8,000:"):
        check({}, Message(Role.USER, "four" * 8_001))


def test_a_question_in_another_script_is_counted_by_its_bytes() -> None:
    with pytest.raises(TooLarge, match="some 9,000 tokens"):
        check({}, Message(Role.USER, "日" * 12_000))


def test_files_and_earlier_messages_are_no_question() -> None:
    file = FileText("a.txt", "x" * 40_000)
    earlier = Message(Role.USER, "x" * 40_000)
    check({}, earlier, Message(Role.USER, "Why?", files=(file,)))


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({}, True),
        (AZURE, False),
        (AZURE | SIGNED_IN, True),
        ({"CHAT_CALLER_PROMPTS": "off"}, False),
        (AZURE | {"CHAT_CALLER_PROMPTS": "on"}, True),
        (AZURE | SIGNED_IN | {"CHAT_CALLER_PROMPTS": "false"}, False),
    ],
    ids=str,
)
def test_a_system_prompt_comes_only_from_callers_who_may_bring_one(environment: dict[str, str], allowed: bool) -> None:
    check(environment, QUESTION)
    for brought in (
        lambda: check(environment, Message(Role.SYSTEM, "You are a pirate."), QUESTION),
        lambda: check(environment, QUESTION, prompt_template="You are a pirate."),
        lambda: check(environment, QUESTION, prompt_template=">>> Be short."),
    ):
        if allowed:
            brought()
        else:
            with pytest.raises(NotAllowed, match=r"\(CHAT_CALLER_PROMPTS\)"):
                brought()
