"""Search queries that the built-in model makes of a conversation."""

import json

import pytest

from shared.chat_models import ModelRequest, ToolDefinition
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_models.extractive.questions import parts_asked
from shared.chat_types import Message, Role
from shared.core.prompts import SEARCH_TOOL
from tests.chat_models.model_contract import REQUEST, answer


async def rewritten(*conversation: str) -> str:
    """The search query for a conversation of user and assistant messages by turns, the last one a question."""
    roles = (Role.USER, Role.ASSISTANT)
    messages = tuple(Message(roles[number % 2], text) for number, text in enumerate(conversation))
    got = await answer(ExtractiveModel(), ModelRequest(messages, conversation[-1], tools=(SEARCH_TOOL,)))
    assert [finished.reason for finished in got.finished] == ["tool_calls"]
    assert got.text == ""
    [call] = got.calls
    assert call.name == "search_sources"
    return json.loads(call.arguments)["search_queries"][0]


@pytest.mark.parametrize(
    ("conversation", "query"),
    [
        (
            ("What does the Plus plan pay for glasses?", "300 euros.", "And for contact lenses?"),
            "And for contact lenses? Plus plan pay glasses",
        ),
        (
            ("Wie lange ist die Elternzeit?", "16 Wochen.", "Gilt das auch für Väter?"),
            "Gilt das auch für Väter? Elternzeit",
        ),
        (
            ("Tell me about parking.", "40 euros.", "Is it free?", "No.", "Why?"),
            "Why? free parking",
        ),
        (
            ("Quelles administrations publient ?", "Toutes.", "et les communes ?"),
            "et les communes ? administrations publient",
        ),
        (
            ("What about parking?", "40 euros.", "How many vacation days do employees get?"),
            "How many vacation days do employees get?",
        ),
    ],
)
async def test_a_question_that_leans_on_those_before_takes_their_subject_along(
    conversation: tuple[str, ...], query: str
) -> None:
    assert await rewritten(*conversation) == query


async def test_the_query_of_a_long_conversation_stays_short() -> None:
    long = " ".join(f"subject{number}" for number in range(2_000))
    assert len(await rewritten(long, "Yes.", long, "Yes.", "And it? " + long)) < 1_000


async def test_a_tool_that_takes_no_text_is_not_called() -> None:
    tool = ToolDefinition("now", "The time.", {"type": "object", "properties": {"zone": {"type": "integer"}}})
    got = await answer(ExtractiveModel(), ModelRequest(REQUEST.messages, REQUEST.question, REQUEST.sources, (tool,)))
    assert got.calls == []
    assert got.text


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How long is the leave, and what is the fee?", ["How long is the leave", "what is the fee?"]),
        ("Wie lang ist der Urlaub? Wie hoch ist die Gebühr?", ["Wie lang ist der Urlaub?", "Wie hoch ist die Gebühr?"]),
        ("Ohio vs Oregon bonding leave", ["Ohio bonding leave", "Oregon bonding leave"]),
        ("bonding leave in Ohio or Oregon", ["bonding leave Ohio", "bonding leave Oregon"]),
        ("congé parental ou sabbatique", ["congé parental", "congé sabbatique"]),
        ("How long is the leave?", []),
        ("MIT and I", []),
        ("jam and tea and milk and honey and bread", []),
    ],
)
def test_a_question_of_several_parts_and_a_comparison_are_split(question: str, parts: list[str]) -> None:
    assert parts_asked(question) == parts
