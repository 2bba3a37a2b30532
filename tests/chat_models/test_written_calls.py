"""What small models write in place of a call or an answer."""

import pytest

from shared.chat_models.written_calls import Repeats, WrittenCalls
from shared.chat_types import ToolCall, ToolDefinition

LOOK = ToolDefinition("crm_look", "Looks an order up.", {"type": "object", "properties": {}})


def read(text: str, calls: WrittenCalls) -> tuple[str, ToolCall | str]:
    return "".join(map(calls.feed, text)), calls.end()


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{\n  "name": "crm_look",\n  "arguments": {\n    "order": "7"\n  }\n}\n```',
        '{"name": "crm_look", "parameters": {"order": "7"}}',
        '{{"name": "crm_look", "arguments": {"order": "7"}}}',
        '<tool_call>\n{"name": "crm_look", "arguments": {"order": "7"}}\n</tool_call>',
    ],
)
def test_a_text_that_is_nothing_but_a_call_of_an_offered_tool_is_that_call(text: str) -> None:
    shown, call = read(text, WrittenCalls((LOOK,)))
    assert shown == ""
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("crm_look", '{"order":"7"}')


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "crm_drop", "arguments": {"order": "7"}}',
        'Call {"name": "crm_look", "arguments": {}} for that.',
        '{"name": "crm_look", "arguments": {}} is how it is called.',
        "```python\nprint(7)\n```",
        "<table>",
        "{",
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    shown, rest = read(text, WrittenCalls((LOOK,)))
    assert shown + str(rest) == text


def test_an_ordinary_text_is_not_held_back() -> None:
    calls = WrittenCalls((LOOK,))
    assert calls.feed("The order") == "The order"


def test_a_text_that_repeats_its_words_without_end_is_noticed() -> None:
    words = "75 % of your insurance payments on your monthly invoice for "
    repeats = Repeats()
    assert any(repeats.feed(words[at % len(words)]) for at in range(2_000))


def test_tables_and_lists_do_not_repeat_themselves() -> None:
    table = "".join(f"| Plan {number} | covers {number * 7} % of a visit | no limit |\n" for number in range(60))
    for text in (table, "-" * 2_000, "| --- " * 400):
        repeats = Repeats()
        assert not any(map(repeats.feed, text))


@pytest.mark.parametrize("text", [" " * 200_000, "\n" * 200_000 + '{"name":', "{}" + "\t" * 200_000 + "x"])
def test_white_space_without_end_is_read_at_once(text: str) -> None:
    """The time limit of the tests is what a quadratic pattern would exceed: models held to JSON write such texts."""
    calls = WrittenCalls((LOOK,), is_arguments=True)
    assert calls.feed(text) == ""
    assert calls.end() == text
