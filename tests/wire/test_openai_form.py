"""The form of an answer, as requests of OpenAI's two protocols ask for it."""

from typing import Any

import pytest

from shared.chat_types import JsonForm
from shared.errors import SwitchboardError
from shared.wire.openai import OPENAI
from shared.wire.openai_responses import OPENAI_RESPONSES

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"share": {"type": "integer"}}, "required": ["share"]}
NAMED: dict[str, Any] = {"name": "cover", "schema": SCHEMA, "strict": True, "description": "What is paid."}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": schema}
    return schema


def form_in_chat(asked: Any) -> JsonForm | None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "What is paid?"}], "response_format": asked}
    return OPENAI.parse(body).form


def form_in_responses(asked: Any) -> JsonForm | None:
    return OPENAI_RESPONSES.parse({"input": "What is paid?", "text": {"format": asked}}).form


def test_both_protocols_ask_for_the_same_forms() -> None:
    chat = {"type": "json_schema", "json_schema": NAMED}
    form = form_in_chat(chat)
    assert form == JsonForm("response_format", "cover", SCHEMA, strict=True, description="What is paid.")
    assert form_in_responses({"type": "json_schema", **NAMED}) == JsonForm(
        "text.format", "cover", SCHEMA, strict=True, description="What is paid."
    )
    assert form_in_chat({"type": "json_object"}) == JsonForm("response_format")
    assert form_in_responses({"type": "json_object"}) == JsonForm("text.format")
    assert form_in_chat({"type": "text"}) is form_in_responses({"type": "text"}) is form_in_chat(None) is None


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"name": None}, "name: is missing"),
        ({"name": "two words"}, "name: "),
        ({"schema": None}, "schema: is missing"),
        ({"schema": [1]}, "schema: "),
        ({"strict": "yes"}, "strict: "),
        ({"description": "x" * 4_001}, "description: "),
        ({"schema": deep(32)}, "schema: should have at most 32 levels"),
        ({"schema": {"title": "x" * 65_536}}, "schema: is over 65,536 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_schema_that_cannot_be_followed_is_refused_by_its_key(wrong: dict[str, Any], names: str) -> None:
    with pytest.raises(SwitchboardError, match=f"^response_format.json_schema.{names}"):
        form_in_chat({"type": "json_schema", "json_schema": NAMED | wrong})
    with pytest.raises(SwitchboardError, match=f"^text.format.{names}"):
        form_in_responses({"type": "json_schema", **NAMED, **wrong})


def test_a_schema_at_its_limits_is_taken() -> None:
    assert form_in_chat({"type": "json_schema", "json_schema": NAMED | {"schema": deep(31)}})


def test_json_has_no_place_for_follow_up_questions() -> None:
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What is paid?"}],
        "response_format": {"type": "json_object"},
        "context": {"overrides": {"suggest_followup_questions": True}},
    }
    assert not OPENAI.parse(body).overrides.suggest_followup_questions
