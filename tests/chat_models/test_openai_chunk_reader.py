import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_models import ModelEvent, ModelFinished, ModelText
from shared.chat_models.chunk_reader import ChunkReader
from shared.chat_types import Json, ToolCall
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta, Usage
from shared.outbound.faults import Reason, ServiceFault


def chunk(
    delta: Json = None, finish_reason: str | None = None, *, model: str | None = "m-1", **more: Json
) -> dict[str, Json]:
    return {"model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **more}


def sse(*chunks: Json, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in chunks]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def read_all(*pieces: bytes) -> list[ModelEvent]:
    reader = ChunkReader("configured")
    return [event for piece in pieces for event in reader.feed(piece)] + reader.finish()


def read(*pieces: bytes) -> list[ModelEvent]:
    """All but the start, which has tests of its own."""
    return [event for event in read_all(*pieces) if not isinstance(event, CompletionStarted)]


def fault_of(*pieces: bytes) -> Reason:
    with pytest.raises(ServiceFault) as caught:
        read(*pieces)
    return caught.value.fault.reason


def said(text: str) -> dict[str, Json]:
    return chunk({"content": text})


STOP = chunk({}, "stop")
USAGE: dict[str, Json] = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
HELLO: list[ModelEvent] = [ModelText("Hel"), ModelText("lo"), ModelFinished("stop")]

TOLERATED: dict[str, tuple[bytes, list[ModelEvent]]] = {
    "plain": (sse(said("Hel"), said("lo"), STOP), HELLO),
    "prompt filter results without choices first, as Azure sends them": (
        sse(
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}], "model": ""}, said("Hel"), said("lo"), STOP
        ),
        HELLO,
    ),
    "no delta, as Azure's asynchronous filter sends it": (
        sse(
            said("Hel"),
            {"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {"check_offset": 1}}]},
            said("lo"),
            STOP,
        ),
        HELLO,
    ),
    "null delta, content, usage and choices": (
        sse(chunk(None), chunk({"content": None}, usage=None), {"choices": None}, said("Hel"), said("lo"), STOP),
        HELLO,
    ),
    "role and empty text first": (
        sse(chunk({"role": "assistant", "content": ""}), said("Hel"), said("lo"), STOP),
        HELLO,
    ),
    "usage alone at the end": (
        sse(said("Hel"), said("lo"), STOP, USAGE),
        [*HELLO[:2], ModelFinished("stop", Usage(3, 2))],
    ),
    "usage with the finish reason": (
        sse(said("Hel"), said("lo"), {**STOP, "usage": {"prompt_tokens": 3, "completion_tokens": None}}),
        [*HELLO[:2], ModelFinished("stop", Usage(3, 0))],
    ),
    "no [DONE]": (sse(said("Hel"), said("lo"), STOP, done=False), HELLO),
    "[DONE] without a finish reason": (sse(said("Hel"), said("lo")), HELLO),
    "anything after [DONE]": (sse(said("Hel"), said("lo"), STOP) + sse(said("!")), HELLO),
    "last line without its end": (sse(said("Hel"), said("lo"), STOP, done=False).rstrip(), HELLO),
    "comments between": (b": OPENROUTER PROCESSING\n\n" + sse(said("Hel"), said("lo"), STOP), HELLO),
    "empty data lines": (b"data:\n\n" + sse(said("Hel"), said("lo"), STOP), HELLO),
    "unknown fields": (sse(chunk({"reasoning": {"effort": 1}}, object="x"), said("Hel"), said("lo"), STOP), HELLO),
    "reasoning, as DeepSeek and llama.cpp name it": (
        sse(chunk({"content": None, "reasoning_content": "hm"}), said("Hel"), said("lo"), STOP),
        [ReasoningDelta("hm"), *HELLO],
    ),
    "reasoning, as Ollama and OpenRouter name it": (
        sse(chunk({"content": "", "reasoning": "hm", "reasoning_details": [{}]}), said("Hel"), said("lo"), STOP),
        [ReasoningDelta("hm"), *HELLO],
    ),
    "reasoning by both names, with the text": (
        sse(chunk({"content": "Hel", "reasoning": "hm", "reasoning_content": "hm"}), said("lo"), STOP),
        [ReasoningDelta("hm"), *HELLO],
    ),
    "reasoning in marks": (
        sse(said("\n<think>h"), said("m</think>\n\n"), said("\nHel"), said("lo"), STOP),
        [ReasoningDelta("h"), ReasoningDelta("m"), *HELLO],
    ),
    "marks that are cut": (
        sse(said("<thi"), said("nk>a</th"), said("b</think"), said(">Hel"), said("lo"), STOP),
        [ReasoningDelta("a"), ReasoningDelta("</thb"), *HELLO],
    ),
    "marks that are not closed": (
        sse(said("<think>hm </"), STOP),
        [ReasoningDelta("hm "), ReasoningDelta("</"), ModelFinished("stop")],
    ),
    "what only begins as a mark": (
        sse(said(" <t"), said("d>"), STOP),
        [ModelText(" <td>"), ModelFinished("stop")],
    ),
    "nothing but the beginning of a mark": (sse(said("<th"), STOP), [ModelText("<th"), ModelFinished("stop")]),
    "a mark amid the text": (
        sse(said("Hi <think>"), said("</think>"), STOP),
        [ModelText("Hi <think>"), ModelText("</think>"), ModelFinished("stop")],
    ),
    "a second choice": (
        sse({"choices": [{"index": 1, "delta": {"content": "no"}}]}, said("Hel"), said("lo"), STOP),
        HELLO,
    ),
    "a refusal": (
        sse(chunk({"refusal": "I can't."}), STOP),
        [ModelText("I can't."), ModelFinished("stop")],
    ),
    "content in parts, as Mistral sends it": (
        sse(chunk({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]}), STOP),
        [ModelText("Hi"), ModelFinished("stop")],
    ),
    "the message as one chunk": (
        sse({"model": "m-1", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        [ModelText("Hi"), ModelFinished("stop")],
    ),
    "the message repeated at the end": (
        sse(said("Hi"), {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        [ModelText("Hi"), ModelFinished("stop")],
    ),
    "the content filter": (
        sse(said("Hi"), chunk({}, "content_filter")),
        [ModelText("Hi"), ModelFinished("content_filter")],
    ),
    "no model's name": (
        sse(chunk({"content": "Hi"}, "length", model=None)),
        [ModelText("Hi"), ModelFinished("length")],
    ),
    "a finish reason of its own": (
        sse(chunk({"content": "Hi"}, "eos")),
        [ModelText("Hi"), ModelFinished("stop")],
    ),
    "an empty answer": (sse(STOP), [ModelFinished("stop")]),
    "numbers and texts of other kinds beside the text": (
        sse(
            {**said("Hel"), "created": 1757876416.566, "id": 7, "system_fingerprint": {"a": 1}, "model": 4},
            {**said("lo"), "created": "1700000000", "usage": "none"},
            {**STOP, "usage": {"prompt_tokens": 3, "completion_tokens": 2.25, "total_tokens": "5"}},
        ),
        [*HELLO[:2], ModelFinished("stop", Usage(3, 2))],
    ),
    "contents that are no texts": (
        sse(
            chunk({"content": 5}),
            said("Hel"),
            chunk({"content": [7, {"type": "text"}], "refusal": 1}),
            said("lo"),
            STOP,
        ),
        HELLO,
    ),
    "thoughts in parts of the content": (
        sse(
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}),
            chunk({"content": [{"type": "thinking", "thinking": "m."}, {"type": "text", "text": "Hel"}]}),
            said("lo"),
            STOP,
        ),
        [ReasoningDelta("Hm"), ReasoningDelta("m."), *HELLO],
    ),
    "halves of a character in two chunks, and one alone": (
        sse(said("A"), said("B"), STOP)
        .replace(b'"A"', rb'"A \\ \ud83d"')
        .replace(b'"B"', rb'"\ude00 B\ud83d\ude00 \ud83d"'),
        [ModelText("A \\ "), ModelText("\U0001f600 B\U0001f600 "), ModelFinished("stop")],
    ),
}


@pytest.mark.parametrize(("stream", "events"), TOLERATED.values(), ids=TOLERATED.keys())
def test_what_services_really_send_is_read_at_every_split(stream: bytes, events: list[ModelEvent]) -> None:
    assert read(stream) == events
    for cut in range(len(stream) + 1):
        assert read(stream[:cut], stream[cut:]) == events


FAULTS: dict[str, tuple[bytes, Reason]] = {
    "cut off in a chunk": (sse(said("Hel"), said("lo"), done=False)[:-20], Reason.NOT_AN_ANSWER),
    "cut off between chunks": (sse(said("Hel"), done=False), Reason.CUT_OFF),
    "nothing": (b"", Reason.NOT_AN_ANSWER),
    "nothing but [DONE]": (sse(), Reason.NOT_AN_ANSWER),
    "garbage": (b"<p>Welcome to nginx</p>\n\n", Reason.NOT_AN_ANSWER),
    "garbage in an event": (b"data: {oops\n\n", Reason.NOT_AN_ANSWER),
    "no UTF-8": (b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n', Reason.NOT_AN_ANSWER),
    "JSON of another kind": (b'data: {"choices": "none"}\n\n', Reason.NOT_AN_ANSWER),
    "an error of the service": (sse({"error": {"message": "secret", "type": "server_error"}}), Reason.BROKEN),
    "an error as a string": (sse({"error": "secret"}), Reason.BROKEN),
    "an error with a status as its code": (sse({"error": {"message": "secret", "code": 429}}), Reason.RATE),
    "an error with a known code": (sse({"error": {"code": "content_filter", "message": "x"}}), Reason.FILTERED),
    "an error after text": (sse(said("Hi"), {"error": {"code": "rate_limit_exceeded"}}), Reason.RATE),
    "a line of llama.cpp's in place of an answer": (
        b'error: {"code":400,"message":"the request exceeds the available context size. try again"}\n\n' + sse(),
        Reason.TOO_LONG,
    ),
    "such a line amid the text": (
        sse(said("Hi"), done=False) + b'error: {"code":500,"message":"x","type":"server_error"}\n\n' + sse(),
        Reason.BROKEN,
    ),
    "such a line that is no JSON": (sse(said("Hi"), done=False) + b"error: oops\n\n" + sse(), Reason.NOT_AN_ANSWER),
    "too long, as a fault of the service amid the text": (
        sse(said("Hi"), {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
        Reason.TOO_LONG,
    ),
    "an error as the finish reason": (sse(said("Hi"), chunk({}, "error")), Reason.BROKEN),
}


@pytest.mark.parametrize(("stream", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_what_is_no_whole_answer_is_a_fault_with_its_reason(stream: bytes, reason: Reason) -> None:
    assert fault_of(stream) is reason


def pieces(*parts: Json, finish_reason: str = "tool_calls") -> bytes:
    return sse(*(chunk({"tool_calls": [part]}) for part in parts), chunk({}, finish_reason))


def part(index: int | None, id_: str | None, name: str | None, arguments: Json) -> Json:
    whole: dict[str, Json] = {"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in whole.items() if value is not None}


A, B = ToolCall("a", "search", '{"q":1}'), ToolCall("b", "look", '{"r":2}')
TOOL_CALLS: dict[str, bytes] = {
    "in pieces": pieces(
        part(0, "a", "search", ""),
        part(0, None, None, '{"q"'),
        part(1, "b", "look", '{"r":'),
        part(0, None, None, ":1}"),
        part(1, None, None, "2}"),
    ),
    "whole": pieces(part(0, "a", "search", '{"q":1}'), part(1, "b", "look", '{"r":2}')),
    "all numbered 0, as Ollama does": pieces(part(0, "a", "search", '{"q":1}'), part(0, "b", "look", '{"r":2}')),
    "without numbers": pieces(part(None, "a", "search", '{"q":1}'), part(None, "b", "look", '{"r":2}')),
    "with name and id in every piece": pieces(
        part(0, "a", "search", '{"q"'), part(0, "a", "search", ":1}"), part(1, "b", "look", '{"r":2}')
    ),
    "with the arguments as an object": pieces(part(0, "a", "search", {"q": 1}), part(1, "b", "look", {"r": 2})),
    "finished by a plain stop": pieces(
        part(0, "a", "search", '{"q":1}'), part(1, "b", "look", '{"r":2}'), finish_reason="stop"
    ),
}


@pytest.mark.parametrize("stream", TOOL_CALLS.values(), ids=TOOL_CALLS.keys())
def test_tool_calls_are_put_together(stream: bytes) -> None:
    assert read(stream) == [A, B, ModelFinished("tool_calls")]


@pytest.mark.parametrize("index", [0, None])
def test_calls_without_an_id_get_one_each(index: int | None) -> None:
    other = None if index is None else 1
    first, second, finished = read(pieces(part(index, None, "search", '{"q":1}'), part(other, None, "look", '{"r":2}')))
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.name, first.arguments, second.name, second.arguments) == ("search", '{"q":1}', "look", '{"r":2}')
    assert first.id
    assert second.id
    assert first.id != second.id
    assert finished == ModelFinished("tool_calls")


def test_text_beside_a_tool_call_comes_first() -> None:
    stream = sse(
        said("Let me see."), chunk({"tool_calls": [part(0, "a", "search", '{"q":1}')]}), chunk({}, "tool_calls")
    )
    assert read(stream) == [ModelText("Let me see."), A, ModelFinished("tool_calls")]


def test_a_whole_completion_in_one_document_is_read_as_one_piece() -> None:
    document = json.dumps(
        {
            "model": "m-1",
            "choices": [
                {
                    "message": {"content": "Hi", "tool_calls": [part(None, "a", "search", '{"q":1}')]},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
    ).encode()
    reader = ChunkReader("configured", framing="json")
    assert [event for byte in document for event in reader.feed(bytes([byte]))] == []
    assert reader.finish()[1:] == [ModelText("Hi"), A, ModelFinished("tool_calls", Usage(3, 2))]


def test_a_document_that_tells_of_an_error_is_that_fault() -> None:
    reader = ChunkReader("configured", framing="json")
    reader.feed(b'{"error": {"code": "insufficient_quota", "message": "secret"}}')
    with pytest.raises(ServiceFault) as caught:
        reader.finish()
    assert caught.value.fault.reason is Reason.QUOTA


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_any_text_arrives_unchanged_however_it_is_cut(texts: list[str], data: st.DataObject) -> None:
    stream = sse(*(said(text) for text in texts), STOP)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8))), len(stream)]
    events = read(*(stream[start:end] for start, end in pairwise(cuts)))
    assert [event.text for event in events if isinstance(event, ModelText)] == texts


def test_the_start_says_what_the_service_said_of_the_answer() -> None:
    said_of_it: dict[str, Json] = {"id": "c-1", "created": 17, "system_fingerprint": "fp"}
    started, *_ = read_all(sse(said("Hi") | said_of_it, STOP))
    assert started == CompletionStarted("c-1", 17, "m-1", "fp")


def test_azures_filter_results_come_with_the_start_and_the_end() -> None:
    found: Json = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]
    choice: Json = {"index": 0, "delta": {"content": "Hi"}, "content_filter_results": {"hate": {"severity": "safe"}}}
    first: Json = {"id": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": found}
    second: Json = {"id": "c-1", "model": "m-1", "choices": [choice]}
    started, *_, finished = read_all(sse(first, second, STOP))
    assert isinstance(started, CompletionStarted)
    assert (started.id, started.model, started.prompt_filter_results) == ("c-1", "m-1", found)
    assert finished == ModelFinished("stop", None, {"hate": {"severity": "safe"}})


def test_what_azures_asynchronous_filter_finds_later_is_passed_on_with_its_place() -> None:
    violent: Json = {"violence": {"filtered": True, "severity": "high"}}
    safe: Json = {"violence": {"filtered": False, "severity": "safe"}}
    offsets: Json = {"check_offset": 2, "start_offset": 0, "end_offset": 2}
    told: list[Json] = [
        {"id": "", "choices": [{"index": 0, "content_filter_results": found, "content_filter_offsets": offsets}]}
        for found in (violent, safe)
    ]
    end: Json = {"id": "", "choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}
    _, text, *annotations, finished = read_all(sse(said("Hi"), *told, end))
    assert text == ModelText("Hi")
    assert annotations == [FilterAnnotation(violent, offsets), FilterAnnotation(safe, offsets)]
    assert finished == ModelFinished("content_filter", None, violent)


def test_a_filters_results_beside_the_tokens_come_before_the_first_that_they_are_of() -> None:
    safe: Json = {"hate": {"filtered": False, "severity": "safe"}}
    low: Json = {"hate": {"filtered": False, "severity": "low"}}
    texts = (("Hel", safe), ("lo", safe), (" you", low), ("!", safe))
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "content_filter_results": found}]}
        for text, found in texts
    ]
    _, *events, finished = read_all(sse({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}, *chunks, STOP))
    assert events == [
        FilterAnnotation(safe, None),
        ModelText("Hel"),
        ModelText("lo"),
        FilterAnnotation(low, None),
        ModelText(" you"),
        FilterAnnotation(safe, None),
        ModelText("!"),
    ]
    assert finished == ModelFinished("stop", None, safe)


def test_the_offsets_beside_a_token_are_of_nothing_that_has_gone_out() -> None:
    found: Json = {"hate": {"filtered": False}}
    choice: Json = {
        "index": 0,
        "delta": {"content": "Hi"},
        "content_filter_results": found,
        "content_filter_offsets": {"end_offset": 2},
    }
    _, annotation, text, finished = read_all(sse({"id": "c-1", "choices": [choice]}, STOP))
    assert (annotation, text) == (FilterAnnotation(found, None), ModelText("Hi"))
    assert finished == ModelFinished("stop", None, found)


def test_a_word_of_a_blocklist_stays_found_whatever_is_said_of_later_parts() -> None:
    told: list[Json] = [
        {"choices": [{"index": 0, "content_filter_results": {"custom_blocklists": [{"filtered": found, "id": "own"}]}}]}
        for found in (True, False)
    ]
    *_, finished = read_all(sse(said("Hi"), *told, STOP))
    assert finished == ModelFinished("stop", None, {"custom_blocklists": [{"filtered": True, "id": "own"}]})


def test_a_service_that_names_nothing_gets_an_id_and_a_time() -> None:
    nameless: Json = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    started, *_ = read_all(sse(nameless))
    assert isinstance(started, CompletionStarted)
    assert started.id
    assert started.created
    assert started.model == "configured"


@pytest.mark.parametrize(("told", "counted"), [(-5, 0), (10**12, 10_000_000), (7, 7)])
def test_no_count_of_tokens_gives_a_budget_back_or_uses_it_up_for_days(told: int, counted: int) -> None:
    usage: Json = {"choices": [], "usage": {"prompt_tokens": told, "completion_tokens": told}}
    *_, finished = read_all(sse(said("Hi"), STOP, usage))
    assert finished == ModelFinished("stop", Usage(counted, counted))
