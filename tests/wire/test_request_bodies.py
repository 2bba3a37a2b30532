"""What the shared request body accepts, and what it says about what it does not."""

import math
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from shared.chat_types import ChatRequest, Json, Overrides, RetrievalMode, Role, ToolCall
from shared.errors import BadRequest, TooLarge
from shared.wire.chat_body import ChatBody, parse_chat
from shared.wire.history_body import MessagesBody
from shared.wire.request_body import BodyModel, read_json_object

ASK: dict[str, Json] = {"messages": [{"role": "user", "content": "Hi"}]}


def parse(**changes: Any) -> ChatRequest:
    return parse_chat(ASK | changes, "session_state")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no body"),
        (b" \r\n", "no body"),
        (b"messages=hi", "not JSON"),
        (b'{"messages": [', "not JSON"),
        (b'{"n": NaN}', "not JSON"),
        (b'{"s": "\\ud800"}', "not JSON"),
        (b"[" * 5_000 + b"]" * 5_000, "recursion limit"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "recursion limit"),
        (b'[{"role": "user"}]', "no object"),
        (b"null", "no object"),
        (b'"text"', "no object"),
        (b'{"m": "\xff"}', "not UTF-8"),
        ('{"m": "é"}'.encode("utf-16"), "not UTF-8"),
        (b'{"m": "\xc3', "not UTF-8"),
    ],
)
def test_a_body_that_is_no_json_object_is_told_why(body: bytes, says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        read_json_object(body)


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert read_json_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"messages": []}, "messages: is empty"),
        ({"messages": None}, "messages: "),
        ({"messages": "Hi"}, "messages: "),
        ({"messages": ["Hi"]}, r"messages\[0\]: should be an object\."),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]\.content: is missing"),
        ({"messages": [{"content": "Hi"}]}, r"messages\[0\]\.role: is missing"),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, r"messages\[0\]\.role: should be 'user', 'assistant'"),
        ({"messages": [{"role": "user", "content": 5}]}, r"messages\[0\]\.content: should be a valid string"),
        ({"messages": [{"role": "user", "content": ["Hi"]}]}, r"messages\[0\]\.content: should be a valid string"),
        ({"messages": [{"role": "user", "content": None}]}, r"messages\[0\]\.content should be a string"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "last message is empty"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "last message must be the user's"),
        ({"context": []}, "context: "),
        ({"context": {"overrides": "x"}}, "context.overrides: "),
    ],
)
def test_what_is_wrong_with_a_request_is_named(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        parse(**changes)


def test_a_request_without_messages_is_told_so() -> None:
    with pytest.raises(BadRequest, match="messages: is missing"):
        parse_chat({}, "session_state")


WRONG_OVERRIDES: list[tuple[str, list[Any]]] = [
    ("temperature", ["0.5", True, -0.1, 2.1, math.inf, [], {}]),
    ("seed", ["1", 1.5, True, 2**63]),
    ("top", ["3", 0, 51, 2.5, True, [], 10**30]),
    ("retrieval_mode", ["fast", 1, True]),
    ("include_category", [1, True, []]),
    ("exclude_category", [1, {}]),
    ("minimum_search_score", ["0", True, math.inf]),
    ("minimum_reranker_score", ["0", False]),
    ("semantic_ranker", ["true", 1]),
    ("semantic_captions", ["no", 0]),
    ("vector_fields", [1, [1], {}]),
    ("search_text_embeddings", ["true", 1]),
    ("search_image_embeddings", ["no", 0, []]),
    ("use_gpt4v", ["true", 1]),
    ("gpt4v_input", ["picture", True, 1]),
    ("send_text_sources", ["true", 1]),
    ("send_image_sources", ["no", 0, {}]),
    ("suggest_followup_questions", ["yes", 1]),
    ("use_oid_security_filter", ["false", 0]),
    ("use_groups_security_filter", ["false", 0]),
    ("prompt_template", [1, ["x"], "x" * 20_001]),
    ("language", [1, "not a language", "de; drop"]),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG_OVERRIDES for value in values])
def test_an_override_of_a_wrong_type_or_value_is_named(name: str, value: Any) -> None:
    for context, path in (({name: value}, f"context.{name}"), ({"overrides": {name: value}}, f"overrides.{name}")):
        with pytest.raises(BadRequest, match=path):
            parse(context=context)


def test_every_override_has_its_wrong_values_tried() -> None:
    assert {name for name, _ in WRONG_OVERRIDES} == set(Overrides.__slots__)


def test_overrides_are_read_from_both_places_and_the_inner_one_wins() -> None:
    asked = parse(context={"top": 5, "temperature": 1, "overrides": {"top": 7, "retrieval_mode": "text"}})
    assert (asked.overrides.top, asked.overrides.temperature) == (7, 1.0)
    assert asked.overrides.retrieval_mode is RetrievalMode.TEXT


@pytest.mark.parametrize("unset", [None, ""])
def test_an_override_that_nobody_filled_in_is_left_out(unset: Json) -> None:
    blank: dict[str, Json] = dict.fromkeys(Overrides.__slots__, unset)
    assert parse(context={"overrides": blank}).overrides == Overrides()
    assert parse(context=blank).overrides == Overrides()


def test_a_vector_field_may_come_alone() -> None:
    assert parse(context={"vector_fields": "embedding"}).overrides.vector_fields == ("embedding",)


def test_text_may_be_asked_for_in_the_words_of_a_front_end() -> None:
    assert parse(context={"overrides": {"gpt4v_input": "texts"}}).overrides.gpt4v_input == "text"


def test_unknown_keys_are_ignored() -> None:
    asked = parse(approach="rrr", context={"approach": "rrr", "overrides": {"use_magic": 1}})
    assert asked.overrides == Overrides()


def test_an_echoed_tool_call_comes_through() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    echoed: list[Any] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "user", "content": "And?"},
    ]
    messages = parse(messages=echoed).messages
    assert messages[0].tool_calls == (ToolCall("c1", "search", "{}"),)
    assert (messages[1].role, messages[1].tool_call_id) == (Role.TOOL, "c1")


@pytest.mark.parametrize("state", [None, 0, "s", [1, {"a": [None]}], {"deep": {"n": 1.0}}])
def test_session_state_comes_through_as_it_is(state: Json) -> None:
    asked = parse(session_state=state)
    assert asked.has_session_state
    assert msgspec.json.encode(asked.session_state) == msgspec.json.encode(state)
    assert not parse().has_session_state


TOO_MANY: dict[str, tuple[type[BodyModel], dict[str, Any], str]] = {
    "messages": (ChatBody, {"messages": [1] * 500_000}, "at most 1000 items"),
    "tool calls": (
        ChatBody,
        {"messages": [{"role": "user", "content": "Hi", "tool_calls": [1] * 500_000}]},
        "at most 128 items",
    ),
    "vector fields": (ChatBody, ASK | {"context": {"vector_fields": [1] * 500_000}}, "at most 100 items"),
    "messages of a chat": (
        MessagesBody,
        {"messages": [{"id": "1", "role": "user", "content": "Hi"}] * 10_001},
        "at most 10000 items",
    ),
}


@pytest.mark.parametrize("name", TOO_MANY)
def test_a_list_with_too_many_items_is_refused_before_they_are_looked_at(name: str) -> None:
    model, body, says = TOO_MANY[name]
    with pytest.raises(BadRequest, match=says) as refused:
        model.read(body)
    assert len(refused.value.message) < 1_000


def test_only_the_first_problems_of_a_chat_are_told() -> None:
    with pytest.raises(BadRequest) as refused:
        MessagesBody.read({"messages": [{"id": "1", "role": "user", "content": "Hi"}, *([1] * 9_000)]})
    assert refused.value.message == "messages[1]: should be an object."


def test_a_body_of_millions_of_lists_is_refused_before_it_is_parsed() -> None:
    body = b'{"messages": [{"id": "1", "role": "user", "content": "Hi", "toolCall": [' + b"[]," * 2_300_000 + b"[]]}]}"
    with pytest.raises(TooLarge, match="more than 100,000 lists and objects"):
        read_json_object(body)


def body_models() -> list[type[BodyModel]]:
    """All classes of bodies, and of objects in them."""
    found: list[type[BodyModel]] = [BodyModel]
    for model in found:
        found += model.__subclasses__()
    return found[1:]


def lists_in(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema)
        if items.get("type") == "array":
            yield items
        for value in items.values():
            yield from lists_in(value)
    elif isinstance(schema, list):
        for value in cast("list[Any]", schema):
            yield from lists_in(value)


@pytest.mark.parametrize("model", body_models(), ids=lambda model: model.__name__)
def test_every_list_of_a_body_has_a_limit(model: type[BodyModel]) -> None:
    assert not [found for found in lists_in(model.model_json_schema(mode="serialization")) if "maxItems" not in found]
