"""What the shared request body accepts, and what it says about what it does not."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
import pytest

from shared.chat_types import ChatRequest, Json, Overrides, RetrievalMode, Role, ToolCall
from shared.errors import BadRequest, TooLarge
from shared.history import Conversation, ListPosition, Mode
from shared.wire.chat_body import ChatBody, parse_chat
from shared.wire.history_body import HISTORY_BODY_LIMIT, ListedPage, MessagesBody, read_page
from shared.wire.request_body import MAX_VALUES, BodyModel, JsonReader, read_json_object
from shared.wire.table import PROTOCOLS
from tests.wire.scenarios import BESIDE

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
        ({"messages": [{"role": "user", "content": "Hi"}] * 1001}, r"^messages: should have at most 1000 items\.$"),
        ({"messages": "Hi"}, "messages: "),
        ({"messages": ["Hi"]}, r"messages\[0\]: should be an object\."),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]\.content: is missing"),
        ({"messages": [{"content": "Hi"}]}, r"messages\[0\]\.role: is missing"),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, r"messages\[0\]\.role: should be 'user', 'assistant'"),
        ({"messages": [{"role": "user", "content": 5}]}, r"messages\[0\]\.content: should be a valid string"),
        ({"messages": [{"role": "user", "content": ["Hi"]}]}, r"messages\[0\]\.content: should be a valid string"),
        ({"messages": [{"role": "user", "content": None}]}, r"messages\[0\]\.content should be a string"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "last message is empty"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "there is no question"),
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
    ("show_progress", ["true", 1]),
    ("resumable", ["true", 1]),
    ("team_pattern", ["round_robin", True, 1, []]),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG_OVERRIDES for value in values])
def test_an_override_of_a_wrong_type_or_value_is_named(name: str, value: Any) -> None:
    for context, path in (({name: value}, f"context.{name}"), ({"overrides": {name: value}}, f"overrides.{name}")):
        with pytest.raises(BadRequest, match=path):
            parse(context=context)


def test_every_override_has_its_wrong_values_tried() -> None:
    assert {name for name, _ in WRONG_OVERRIDES} == set(Overrides.__struct_fields__)


def test_overrides_are_read_from_both_places_and_the_inner_one_wins() -> None:
    asked = parse(context={"top": 5, "temperature": 1, "overrides": {"top": 7, "retrieval_mode": "text"}})
    assert (asked.overrides.top, asked.overrides.temperature) == (7, 1.0)
    assert asked.overrides.retrieval_mode is RetrievalMode.TEXT


@pytest.mark.parametrize("unset", [None, ""])
def test_an_override_that_nobody_filled_in_is_left_out(unset: Json) -> None:
    blank: dict[str, Json] = dict.fromkeys(Overrides.__struct_fields__, unset)
    assert parse(context={"overrides": blank}).overrides == Overrides()
    assert parse(context=blank).overrides == Overrides()


def test_a_vector_field_may_come_alone() -> None:
    assert parse(context={"vector_fields": "embedding"}).overrides.vector_fields == ("embedding",)


def test_text_may_be_asked_for_in_the_words_of_a_front_end() -> None:
    assert parse(context={"overrides": {"gpt4v_input": "texts"}}).overrides.gpt4v_input == "text"


def test_unknown_keys_are_ignored() -> None:
    asked = parse(approach="rrr", context={"approach": "rrr", "overrides": {"use_magic": 1}})
    assert asked.overrides == Overrides()


def test_an_earlier_message_of_the_assistant_may_say_nothing() -> None:
    said = parse(messages=[{"role": "assistant", "content": None}, *cast("list[Json]", ASK["messages"])])
    assert [message.content for message in said.messages] == ["", "Hi"]


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


@pytest.mark.parametrize("protocol", ["openai", "azure-openai", "ai-sdk"])
def test_what_came_with_a_call_comes_back_for_the_service_that_sent_it(protocol: str) -> None:
    if protocol == "ai-sdk":
        metadata: Json = {"switchboard": BESIDE}
        part = {"type": "tool-f", "toolCallId": "c1", "input": {}, "callProviderMetadata": metadata}
        answer = {"role": "assistant", "parts": [part | {"state": "output-available", "output": "found"}]}
        said: list[Any] = [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}, answer]
    else:
        call = {"id": "c1~0123abcd", "function": {"name": "f", "arguments": "{}"}} | BESIDE
        result = {"role": "tool", "tool_call_id": "c1~0123abcd", "content": "found"}
        said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    steps = PROTOCOLS[protocol].parse({"messages": said}).steps
    assert [step.tool_call_id for step in steps] == [None, "c1"]
    assert steps[0].tool_calls == (ToolCall("c1", "f", "{}", BESIDE),)


@pytest.mark.parametrize("state", [None, 0, "s", [1, {"a": [None]}], {"deep": {"n": 1.0}}])
def test_session_state_comes_through_as_it_is(state: Json) -> None:
    asked = parse(session_state=state)
    assert asked.chat.has_session_state
    assert msgspec.json.encode(asked.chat.session_state) == msgspec.json.encode(state)
    assert not parse().chat.has_session_state


CALL: dict[str, Any] = {"id": "1", "function": {"name": "f", "arguments": ""}}


@pytest.mark.parametrize("state", ["c" * 201, {"conversationId": "c" * 201}])
def test_a_text_that_is_too_long_for_a_conversations_id_is_only_given_back(state: Json) -> None:
    asked = parse(session_state=state)
    assert (asked.chat.session_state, asked.chat.conversation_id) == (state, None)


@pytest.mark.parametrize("protocol", ["semantic-kernel", "semantic-kernel-python"])
@pytest.mark.parametrize(
    "echoed",
    [
        {"Role": {"Label": "Assistant"}, "Items": [{"$type": "TextContent", "Text": "Bye"}, {"$type": "ImageContent"}]},
        {"role": {"label": "Assistant"}, "items": [{"$type": "TextContent", "text": "Bye"}], "modelId": None},
        {"Role": "Assistant", "Content": "Bye", "authorRole": "USER", "content": "Bye", "Items": []},
        {"authorRole": "ASSISTANT", "content": "Bye", "metadata": None, "toolCall": None},
        {
            "role": "assistant",
            "items": [
                {"content_type": "reasoning", "text": "Hm."},
                {"content_type": "function_call", "name": "f", "arguments": "{}"},
                {"content_type": "text", "text": "Bye"},
            ],
        },
        {"role": "assistant", "content": "Bye"},
        {"role": "assistant", "content": "Bye", "context": {"thoughts": [], "data_points": {}}},
        {
            "authorRole": "ASSISTANT",
            "content": None,
            "items": [{"content": "Bye", "modelId": None}],
            "encoding": "UTF-8",
        },
    ],
)
def test_what_a_client_of_semantic_kernel_echoes_is_read_in_each_languages_shape(
    protocol: str, echoed: dict[str, Any]
) -> None:
    first, last = PROTOCOLS[protocol].parse({"messages": [echoed, *cast("list[Json]", ASK["messages"])]}).messages
    assert (first.role, first.content) == (Role.ASSISTANT, "Bye")
    assert (last.role, last.content) == (Role.USER, "Hi")


JAVA: list[Json] = [
    {"authorRole": "USER", "content": "What of crowns?", "items": None, "contentType": "TEXT", "encoding": "UTF-8"},
    {"authorRole": "ASSISTANT", "toolCall": [{"id": "c1", "pluginName": "crm", "functionName": "look"}]},
    {"authorRole": "TOOL", "content": "paid", "metadata": {"id": "c1"}, "contentType": "TEXT"},
    {"authorRole": "ASSISTANT", "content": "70 %.", "contentType": "TEXT"},
    {"authorRole": "USER", "content": "And bridges?", "contentType": "TEXT"},
]
PYTHON: list[Json] = [
    {"role": "user", "items": [{"content_type": "text", "text": "What of crowns?", "encoding": None}]},
    {"role": "assistant", "items": [{"content_type": "function_call", "id": "c1", "name": "crm-look"}], "name": None},
    {"role": "tool", "items": [{"content_type": "function_result", "id": "c1", "result": "paid"}], "status": None},
    {"role": "assistant", "items": [{"content_type": "text", "text": "70 %."}], "finish_reason": "stop"},
    {"role": "user", "items": [{"content_type": "text", "text": "And bridges?"}], "metadata": {}},
]
"""A history with a call of the client's own plugin, as `ChatHistory` of 1.45 writes it."""


@pytest.mark.parametrize("protocol", ["semantic-kernel", "semantic-kernel-python"])
@pytest.mark.parametrize("history", [JAVA, PYTHON], ids=["java", "python"])
def test_a_history_of_semantic_kernel_with_calls_of_its_plugins_is_read(protocol: str, history: list[Json]) -> None:
    said = PROTOCOLS[protocol].parse({"messages": history}).messages
    spoken = [(one.role, one.content) for one in said if one.content and one.role is not Role.TOOL]
    assert spoken == [(Role.USER, "What of crowns?"), (Role.ASSISTANT, "70 %."), (Role.USER, "And bridges?")]


@pytest.mark.parametrize("message", [{"Role": 5}, {"authorRole": ["user"]}, {"Role": {"Label": 1}, "Content": 7}])
def test_a_message_of_semantic_kernel_without_a_word_for_its_role_is_refused(message: dict[str, Json]) -> None:
    with pytest.raises(BadRequest, match=r"messages\[0\]\.role"):
        PROTOCOLS["semantic-kernel"].parse({"messages": [message]})


def test_a_message_of_semantic_kernel_is_in_one_of_its_shapes_whole() -> None:
    mixed: dict[str, Json] = {"role": "user", "Content": "Hi"}
    with pytest.raises(BadRequest, match=r"messages\[0\]\.content should be a string"):
        PROTOCOLS["semantic-kernel"].parse({"messages": [mixed]})


@pytest.mark.parametrize(
    ("protocol", "key"), [("semantic-kernel", "ConversationId"), ("semantic-kernel-python", "conversation_id")]
)
def test_a_conversations_id_that_is_too_long_is_refused(protocol: str, key: str) -> None:
    assert PROTOCOLS[protocol].parse(ASK | {key: "c" * 200}).chat.conversation_id == "c" * 200
    with pytest.raises(BadRequest, match=f"{key}: should have at most 200 characters"):
        PROTOCOLS[protocol].parse(ASK | {key: "c" * 201})


@pytest.mark.parametrize(
    ("protocol", "key", "kind"), [("openai-responses", "input", "input_text"), ("openai", "messages", "text")]
)
def test_a_message_of_openais_may_have_as_many_parts_as_the_error_says(protocol: str, key: str, kind: str) -> None:
    def parse_parts(count: int) -> ChatRequest:
        parts: list[Json] = [{"type": kind, "text": "a"}] * count
        return PROTOCOLS[protocol].parse({"model": "switchboard", key: [{"role": "user", "content": parts}]})

    assert parse_parts(1_000).question.count("a") == 1_000
    with pytest.raises(BadRequest, match="should have at most 1,000 parts"):
        parse_parts(1_001)


def test_a_list_of_chats_that_is_not_asked_for_in_pages_has_the_newest_five_hundred() -> None:
    assert read_page({}) == read_page({"mode": "", "limit": "", "cursor": ""}) == ListedPage(None, 500, None)


def test_the_address_of_the_next_page_leads_behind_the_last_chat() -> None:
    updated = datetime(2026, 11, 22, 13, 2, 11, 123_457, tzinfo=UTC)
    last = Conversation("5f0c3f7e-8f5b-4c39-9d55-6f1f6f0f4b1a", "t", Mode.STANDARD, "", updated, 0)
    page = ListedPage(Mode.STANDARD, 20, None)
    following = dict(parse_qsl(page.following(last)))
    assert read_page(following) == ListedPage(Mode.STANDARD, 20, ListPosition(updated, last.id))


TOO_MANY: dict[str, tuple[type[BodyModel], dict[str, Any], str]] = {
    "messages": (ChatBody, {"messages": [{"role": "user", "content": "Hi"}] * 500_000}, "at most 1000 items"),
    "tool calls": (
        ChatBody,
        {"messages": [{"role": "user", "content": "Hi", "tool_calls": [CALL] * 500_000}]},
        "at most 128 items",
    ),
    "vector fields": (ChatBody, ASK | {"context": {"vector_fields": ["f"] * 500_000}}, "at most 100 items"),
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


WRONG_ITEMS: list[tuple[type[BodyModel], dict[str, Any], str]] = [
    (MessagesBody, {"messages": [{"id": "1", "role": "user", "content": "Hi"}, *[1] * 9_000]}, "messages[1]"),
    (ChatBody, {"messages": [1] * 500_000}, "messages[0]"),
    (ChatBody, {"messages": [{"role": "user", "content": "Hi", "tool_calls": [1] * 128}] * 1_000}, "tool_calls[0]"),
    (ChatBody, ASK | {"context": {"vector_fields": [1] * 100}}, "vector_fields[0]"),
]


@pytest.mark.parametrize(("model", "body", "place"), WRONG_ITEMS)
def test_only_the_first_wrong_item_of_a_list_is_told(model: type[BodyModel], body: dict[str, Any], place: str) -> None:
    with pytest.raises(BadRequest) as refused:
        model.read(body)
    assert place in refused.value.message
    assert refused.value.message.count(": should be") == 1


STEPS = pytest.mark.parametrize("step", [61, 4_096, 65_536, 10_000_000])
"""Sizes of the chunks in which a body comes."""


def read_in_steps(body: bytes, step: int) -> dict[str, Json]:
    reader = JsonReader(HISTORY_BODY_LIMIT)
    for start in range(0, len(body), step):
        reader.feed(body[start : start + step])
    return reader.finish().json


def listed(item: bytes, count: int) -> bytes:
    return b'{"messages": [' + (item + b",") * (count - 1) + item + b"]}"


@STEPS
@pytest.mark.parametrize("item", [b"1", b"[]", b'"[{,"', rb'"\\"', rb'"\"[,\\\","', rb'"\\\\\",{"'])
def test_values_are_counted_and_texts_may_hold_what_they_like(item: bytes, step: int) -> None:
    lists = item.count(b"[]")
    most = (MAX_VALUES - 1) // (1 + lists)  # beside the object and its list
    assert len(cast("list[Json]", read_in_steps(listed(item, most), step)["messages"])) == most
    with pytest.raises(TooLarge, match="more than 100,000 values"):
        read_in_steps(listed(item, most + 1), step)


@STEPS
@pytest.mark.parametrize("sign", [b"", b"-", b"0.", b"1.5e"])
def test_a_number_of_hundreds_of_digits_is_refused(sign: bytes, step: int) -> None:
    filling = [b'"' + b"1" * number + b'"' for number in range(0, 900, 23)]
    with pytest.raises(BadRequest, match="more than 400 digits"):
        read_in_steps(listed(b",".join([*filling, sign + b"7" * 401]), 2), step)


@STEPS
def test_the_largest_number_and_texts_of_digits_are_read(step: int) -> None:
    body = listed(b'%d,"%s"' % (10**308, b"1" * 100_000), 3)
    assert read_in_steps(body, step) == {"messages": [10**308, "1" * 100_000] * 3}


def test_a_text_of_the_whole_size_is_read() -> None:
    code = "if (a[0] == {}) { return [b, c]; }" * 200_000
    assert read_in_steps(json.dumps({"text": code}).encode(), 65_536) == {"text": code}


def test_a_body_of_millions_of_lists_is_refused_before_it_is_parsed() -> None:
    body = b'{"messages": [{"id": "1", "role": "user", "content": "Hi", "toolCall": [' + b"[]," * 2_300_000 + b"[]]}]}"
    with pytest.raises(TooLarge, match="more than 100,000 values"):
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


def core_lists(schema: Any) -> Iterator[dict[str, Any]]:
    """The lists in a schema of pydantic's validator."""
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema)
        if items.get("type") == "list":
            yield items
        for name, value in items.items():
            if name != "json_schema_input_schema":  # describes, and checks nothing
                yield from core_lists(value)
    elif isinstance(schema, list | tuple):
        for value in cast("list[Any]", schema):
            yield from core_lists(value)


@pytest.mark.parametrize("model", body_models(), ids=lambda model: model.__name__)
def test_every_list_of_a_body_is_checked_up_to_its_first_wrong_item(model: type[BodyModel]) -> None:
    assert not [found for found in core_lists(model.__pydantic_core_schema__) if not found.get("fail_fast")]
