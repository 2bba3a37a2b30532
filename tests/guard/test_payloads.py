"""Which texts are in a payload, and what their places are called."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.guard import Api, Buffer, Side
from shared.guard.payloads import PayloadReader, PlacedText, read_texts

CHAT, REALTIME, COMPLETION, IMAGE = Api.CHAT_COMPLETION, Api.REALTIME, Api.COMPLETION, Api.IMAGE_GENERATION
SAID = "what the user said"


def buffer(api: Api, source: Side, payload: Json) -> Buffer:
    return Buffer(source, api, json.dumps(payload))


def prompt(api: Api, payload: Json) -> list[tuple[str, int, str]]:
    return [(found.place.message_id, found.place.content_index, found.text) for found in _read(api, "PROMPT", payload)]


def answer(api: Api, payload: Json) -> list[tuple[str, int, str, bool]]:
    return [
        (found.place.message_id, found.place.content_index, found.text, found.whole)
        for found in _read(api, "COMPLETION", payload)
    ]


def _read(api: Api, source: str, payload: Json) -> list[PlacedText]:
    found = read_texts(buffer(api, Side(source), payload))
    assert {each.place.side for each in found} <= {Side(source)}
    return found


def chunk(text: str | None, index: int = 0) -> Json:
    return {"object": "chat.completion.chunk", "choices": [{"index": index, "delta": {"content": text}}]}


def item(item_id: str | None, *contents: Json, role: str = "user") -> dict[str, Json]:
    made: dict[str, Json] = {"type": "message", "role": role, "content": list(contents)}
    return made if item_id is None else made | {"id": item_id}


def test_a_message_of_a_chat_prompt_is_called_by_its_index() -> None:
    messages: list[Json] = [
        {"role": "developer", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Hello!"},
    ]
    assert prompt(CHAT, {"model": "gpt-4o", "messages": messages}) == [
        ("0", 0, "You are a helpful assistant."),
        ("1", 0, "Hello!"),
    ]


def test_a_part_of_a_message_has_its_own_index_and_images_have_no_text() -> None:
    parts: list[Json] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "text", "text": "And why?"},
        {"type": "refusal", "refusal": "No."},
    ]
    assert prompt(CHAT, {"messages": [{"role": "user", "content": parts}]}) == [
        ("0", 0, "What is this?"),
        ("0", 2, "And why?"),
        ("0", 3, "No."),
    ]


def test_messages_without_text_have_none() -> None:
    call: Json = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "{}"}}]}
    assert prompt(CHAT, {"messages": [call, {"role": "user", "content": ""}, {"role": "user"}]}) == []


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"prompt": "Once"}, "Once"),
        ({"prompt": ["Once", " upon", " a time"]}, "Once upon a time"),
        ({"prompt": "Once", "suffix": " the end"}, "Once the end"),
    ],
)
def test_a_completions_prompt_is_one_text(payload: Json, text: str) -> None:
    assert prompt(COMPLETION, payload) == [("0", 0, text)]


def test_an_images_prompt_is_one_text_and_its_answer_is_the_prompt_as_it_was_rewritten() -> None:
    assert prompt(IMAGE, {"model": "dall-e-3", "prompt": "A cat", "n": 1}) == [("0", 0, "A cat")]
    images: list[Json] = [{"url": "https://example.com/a.png"}, {"b64_json": "aGk=", "revised_prompt": "A grey cat"}]
    assert answer(IMAGE, {"created": 1, "data": images}) == [("1", 0, "A grey cat", True)]


def test_a_choice_of_an_answer_is_called_by_its_index() -> None:
    choices: list[Json] = [
        {"index": 1, "message": {"role": "assistant", "content": "Second"}},
        {"index": 0, "message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}},
    ]
    assert answer(CHAT, {"choices": choices}) == [("1", 0, "Second", True), ("0", 0, "a", True), ("0", 1, "b", True)]


def test_a_chunk_is_the_next_piece_of_its_choice() -> None:
    assert answer(CHAT, chunk("Hel", 1)) == [("1", 0, "Hel", False)]


def test_chunks_without_text_have_none() -> None:
    assert answer(CHAT, {"choices": []}) == []
    assert answer(CHAT, chunk(None)) == []
    assert answer(CHAT, {"choices": [{"index": 0, "delta": {}}]}) == []


def test_a_completions_answer_is_called_by_its_choice() -> None:
    assert answer(COMPLETION, {"choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]}) == [
        ("0", 0, "a", False),
        ("1", 0, "b", False),
    ]


@pytest.mark.parametrize("kind", ["create", "created", "added", "done", "retrieved"])
def test_a_users_realtime_item_is_called_by_its_id(kind: str) -> None:
    event: Json = {
        "type": f"conversation.item.{kind}",
        "item": item(
            "item_02",
            {"type": "input_text", "text": "Hello"},
            {"type": "input_audio", "audio": "aGk="},
            {"type": "input_audio", "transcript": "there"},
        ),
    }
    assert prompt(REALTIME, event) == [("item_02", 0, "Hello"), ("item_02", 2, "there")]


def test_what_a_realtime_user_says_is_read_as_it_is_written_down() -> None:
    heard: dict[str, Json] = {"item_id": "item_02", "content_index": 1}
    kind = "conversation.item.input_audio_transcription"
    reader = PayloadReader()
    events: list[Json] = [
        heard | {"type": f"{kind}.delta", "delta": "Hel"},
        heard | {"type": f"{kind}.delta", "delta": "lo"},
        heard | {"type": f"{kind}.completed", "transcript": "Hello!"},
    ]
    found = [new for event in events for new in reader.read(buffer(REALTIME, Side.PROMPT, event))]
    assert [(new.place.message_id, new.place.content_index, new.text) for new in found] == [
        ("item_02", 1, "Hel"),
        ("item_02", 1, "lo"),
        ("item_02", 1, "!"),
    ]


def test_tool_results_and_the_input_of_a_response_are_prompts() -> None:
    result: Json = {"type": "function_call_output", "id": "item_03", "call_id": "c", "output": "Sunny"}
    assert prompt(REALTIME, {"type": "conversation.item.create", "item": result}) == [("item_03", 0, "Sunny")]
    response: Json = {"input": [item("item_04", {"type": "input_text", "text": "Why?"})]}
    assert prompt(REALTIME, {"type": "response.create", "response": response}) == [("item_04", 0, "Why?")]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("response.output_text", "text"),
        ("response.text", "text"),
        ("response.output_audio_transcript", "transcript"),
        ("response.audio_transcript", "transcript"),
    ],
)
def test_a_realtime_answer_is_called_by_its_response_and_its_item(kind: str, key: str) -> None:
    place: dict[str, Json] = {"response_id": "res_01", "item_id": "item_02", "output_index": 0, "content_index": 3}
    assert answer(REALTIME, place | {"type": f"{kind}.delta", "delta": "Hi"}) == [("6res_017item_02", 3, "Hi", False)]
    assert answer(REALTIME, place | {"type": f"{kind}.done", key: "Hi!"}) == [("6res_017item_02", 3, "Hi!", True)]


def test_events_that_repeat_a_realtime_answer_add_nothing() -> None:
    place: dict[str, Json] = {"response_id": "res_01", "item_id": "item_02", "content_index": 0}
    empty: Json = {"type": "output_text", "text": ""}
    text: Json = {"type": "output_text", "text": "Hi!"}
    whole = item("item_02", text, role="assistant")
    events: list[Json] = [
        {"type": "response.created", "response": {"id": "res_01", "output": []}},
        {"type": "response.output_item.added", "response_id": "res_01", "item": item("item_02")},
        place | {"type": "response.content_part.added", "part": empty},
        place | {"type": "response.output_text.delta", "delta": "Hi"},
        place | {"type": "response.output_text.delta", "delta": "!"},
        place | {"type": "response.output_text.done", "text": "Hi!"},
        place | {"type": "response.content_part.done", "part": text},
        {"type": "response.output_item.done", "response_id": "res_01", "item": whole},
        {"type": "response.done", "response": {"id": "res_01", "output": [whole]}},
        {"type": "rate_limits.updated", "rate_limits": []},
    ]
    reader = PayloadReader()
    found = [[new.text for new in reader.read(buffer(REALTIME, Side.COMPLETION, event))] for event in events]
    assert found == [[], [], [], ["Hi"], ["!"], [], [], [], [], []]


def test_an_answer_that_was_interrupted_adds_nothing_though_it_is_shorter_than_what_came() -> None:
    place: dict[str, Json] = {"response_id": "res_01", "item_id": "item_02", "content_index": 0}
    reader = PayloadReader()
    reader.read(buffer(REALTIME, Side.COMPLETION, place | {"type": "response.output_text.delta", "delta": "Hi you"}))
    cut: Json = place | {"type": "response.output_text.done", "text": "Hi"}
    assert reader.read(buffer(REALTIME, Side.COMPLETION, cut)) == []


@pytest.mark.parametrize("kind", ["response.output_item.done", "response.done", "response.content_part.done"])
def test_a_realtime_answer_that_comes_only_at_its_end_is_read_there(kind: str) -> None:
    part: Json = {"type": "output_audio", "transcript": "Hi!"}
    whole = item("item_02", part, role="assistant")
    event: Json = {
        "type": kind,
        "response_id": "res_01",
        "item_id": "item_02",
        "content_index": 0,
        "part": part,
        "item": whole,
        "response": {"id": "res_01", "output": [whole]},
    }
    assert answer(REALTIME, event) == [("6res_017item_02", 0, "Hi!", True)]


def test_a_conversation_that_is_sent_again_with_more_adds_only_what_is_new() -> None:
    reader = PayloadReader()
    messages: list[Json] = [{"role": "user", "content": "One"}]
    assert [new.text for new in reader.read(buffer(CHAT, Side.PROMPT, {"messages": messages}))] == ["One"]
    messages.append({"role": "user", "content": "Two"})
    assert [new.text for new in reader.read(buffer(CHAT, Side.PROMPT, {"messages": messages}))] == ["Two"]


def test_another_text_for_the_same_place_is_refused_until_the_first_is_committed() -> None:
    reader = PayloadReader()
    first = buffer(CHAT, Side.PROMPT, {"messages": [{"role": "user", "content": "One"}]})
    other = buffer(CHAT, Side.PROMPT, {"messages": [{"role": "user", "content": "Two"}]})
    reader.read(first)
    reader.commit(Side.COMPLETION)
    with pytest.raises(BadRequest, match="Commit the source first"):
        reader.read(other)
    reader.commit(Side.PROMPT)
    assert [new.text for new in reader.read(other)] == ["Two"]


@given(st.lists(st.tuples(st.integers(0, 2), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))))
def test_the_pieces_of_streamed_choices_are_their_texts(pieces: list[tuple[int, str]]) -> None:
    reader, read = PayloadReader(), {"0": "", "1": "", "2": ""}
    for index, text in pieces:
        for new in reader.read(buffer(CHAT, Side.COMPLETION, chunk(text, index))):
            read[new.place.message_id] += new.text
    for choice, text in read.items():
        assert text == "".join(piece for index, piece in pieces if str(index) == choice)


@pytest.mark.parametrize(
    ("api", "source", "payload", "said"),
    [
        (CHAT, "PROMPT", "", "not JSON"),
        (CHAT, "PROMPT", f'{{"messages": "{SAID}', "not JSON"),
        (CHAT, "PROMPT", f'{{"messages": [{{"content": "{SAID} \\ud800"}}]}}', "not JSON"),
        (CHAT, "PROMPT", f'{{"messages": [{{"content": "{SAID} \ud800"}}]}}', "not JSON"),
        (CHAT, "PROMPT", '{"messages": [NaN]}', "not JSON"),
        (CHAT, "PROMPT", "[" * 100_000, "not JSON"),
        (CHAT, "PROMPT", f'"{SAID}"', "The payload should be a JSON object"),
        (CHAT, "PROMPT", "{}", "messages should be a list"),
        (CHAT, "PROMPT", f'{{"messages": ["{SAID}"]}}', r"messages\[0\] should be a JSON object"),
        (CHAT, "PROMPT", '{"messages": [{"content": 1}]}', r"messages\[0\].content should be a text"),
        (CHAT, "PROMPT", f'{{"messages": [{{"content": ["{SAID}"]}}]}}', r"messages\[0\].content\[0\] should be"),
        (CHAT, "PROMPT", '{"messages": [{"content": [{"text": 1}]}]}', r"messages\[0\].content\[0\].text should be"),
        (CHAT, "COMPLETION", f'{{"messages": [{{"content": "{SAID}"}}]}}', "choices should be a list"),
        (CHAT, "COMPLETION", '{"choices": [{"message": []}]}', r"choices\[0\].message should be a JSON object"),
        (CHAT, "COMPLETION", '{"choices": [{"index": -1}]}', r"choices\[0\].index should be a whole number"),
        (CHAT, "COMPLETION", '{"choices": [{"index": 2147483648}]}', r"choices\[0\].index should be a whole number"),
        (CHAT, "COMPLETION", '{"choices": [{"index": true}]}', r"choices\[0\].index should be a whole number"),
        (COMPLETION, "PROMPT", "{}", "prompt should be a text"),
        (COMPLETION, "PROMPT", '{"prompt": [1, 2, 3]}', r"prompt\[0\] should be a text"),
        (COMPLETION, "COMPLETION", '{"choices": [{}]}', r"choices\[0\].text should be a text"),
        (IMAGE, "PROMPT", "{}", "prompt should be a text"),
        (IMAGE, "COMPLETION", '{"data": 1}', "data should be a list"),
        (IMAGE, "COMPLETION", '{"data": [{"revised_prompt": 1}]}', r"data\[0\].revised_prompt should be a text"),
        (REALTIME, "PROMPT", "{}", "type should be a text"),
        (REALTIME, "PROMPT", '{"type": "conversation.item.create"}', "item should be a JSON object"),
        (REALTIME, "COMPLETION", '{"type": "response.text.delta", "content_index": 0}', "response_id is missing"),
        (REALTIME, "COMPLETION", '{"type": "response.text.delta", "delta": "a"}', "content_index should be"),
    ],
)
def test_what_is_no_payload_of_its_api_is_one_sentence_that_quotes_nothing(
    api: Api, source: str, payload: str, said: str
) -> None:
    with pytest.raises(BadRequest, match=said) as refused:
        read_texts(Buffer(Side(source), api, payload))
    assert SAID not in refused.value.message
    assert refused.value.__cause__ is None


def test_a_realtime_item_with_text_needs_an_id() -> None:
    event: Json = {"type": "conversation.item.create", "item": item(None, {"type": "input_text", "text": SAID})}
    with pytest.raises(BadRequest, match=r"item\.id is missing"):
        prompt(REALTIME, event)
    assert prompt(REALTIME, {"type": "conversation.item.create", "item": item(None)}) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "content", "choices", "delta", "text", "type", "item", "id", "prompt", "data"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(Api), st.sampled_from(Side), JSON)
def test_any_json_is_read_or_refused_in_words(api: Api, source: Side, payload: Json) -> None:
    found: list[PlacedText] = []
    with suppress(BadRequest):
        found = read_texts(buffer(api, source, payload))
    assert all(each.text and each.place.side is source for each in found)
