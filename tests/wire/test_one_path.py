"""A streamed answer, read the way its clients read it, is the answer that the document holds."""

from collections.abc import Callable, Iterator
from copy import replace
from typing import Any, cast

import msgspec
import pytest

from shared.core.fold import notice_of
from shared.events import Finished, TextDelta
from shared.wire.table import LATE, PROTOCOLS
from tests.wire.scenarios import PROMPT_FOUND, RESEARCHER, SCENARIOS, STARTED, TEAM, TEAM_SCENARIOS
from tests.wire.test_goldens import document_of, records_of, stream_of

type Read = dict[str, Any]


def without_place(found: Read) -> Read:
    """What belongs to the whole answer: where a filter found something is said of a part of it."""
    return {key: value for key, value in found.items() if key not in {"content_filter_offsets", "ContentFilterOffsets"}}


def read_deltas(records: list[Any]) -> Read:
    """As azure-search-openai-demo's front end does: join the contents, merge the contexts key by key."""
    answer: Read = {"message": {"role": "assistant", "content": ""}, "context": {}}
    for record in records:
        if "error" in record:
            return {"error": record["error"]}
        answer["message"]["content"] += record["delta"].get("content", "")
        answer["context"] |= without_place(record.pop("context", {}))
        answer |= {key: value for key, value in record.items() if key != "delta"}
    return answer


def read_choices(records: list[Any]) -> Read:
    """As the older front ends and the web component do."""
    message: Read = {"content": "", "function_call": None, "role": "assistant", "tool_calls": None, "context": {}}
    choice: Read = {"message": message, "context": {}}
    answer: Read = {"choices": [choice], "usage": None}
    for record in records:
        if "error" in record:
            return record
        (chunk,) = record.pop("choices")
        message["content"] += chunk["delta"].get("content") or ""
        inside, beside = chunk["delta"].get("context", {}), chunk.pop("context", {})
        assert inside == beside | {key: inside[key] for key in ("thoughts",) if key in beside}
        message["context"] |= inside
        choice["context"] |= beside
        del chunk["delta"]
        choice |= {key: value for key, value in without_place(chunk).items() if value is not None}
        answer |= record | {"object": "chat.completion"}
    return {**answer, "choices": [{**choice, "message": message}]}


def read_csharp(records: list[Any]) -> Read:
    """Adds up streaming contents; each late context adds keys to the first."""
    text = ""
    metadata: Read = {"Context": {}}
    for record in records:
        if "error" in record:
            return record
        assert record["Content"] == record["content"]
        assert record.get("Metadata") == record.get("metadata")
        text += record["Content"]
        found = without_place(record.get("Metadata", {}))
        metadata = {**metadata, **found, "Context": metadata["Context"] | found.get("Context", {})}
    return {"Content": text, "Metadata": metadata}


def read_python(records: list[Any]) -> Read:
    """As `StreamingChatMessageContent.__add__` does: same model, same role, metadata merged key by key."""
    text, reason = "", None
    metadata: Read = {}
    for record in records:
        if "error" in record:
            return record
        assert (record["ai_model_id"], record["role"], record["choice_index"]) == (None, "assistant", 0)
        text += "".join(item.get("text", "") for item in record["items"])
        metadata |= without_place(record["metadata"])
        reason = record["finish_reason"] or reason
    return {"text": text, "metadata": metadata, "finish_reason": reason}


def whole_csharp(document: Any) -> Read:
    return document if "error" in document else {key: document[0][key] for key in ("Content", "Metadata")}


def whole_python(document: Any) -> Read:
    if "error" in document:
        return document
    (message,) = document
    text = "".join(item.get("text", "") for item in message["items"])
    metadata = message["metadata"] | {"model": message["ai_model_id"]}
    return {"text": text, "metadata": metadata, "finish_reason": message["finish_reason"]}


def read_openai(records: list[Any]) -> Read:
    """As OpenAI's SDKs do: join the contents, take each other key once."""
    answer: Read = {"content": "", "annotations": []}
    reasoning = ""
    for record in records:
        if "error" in record:
            return record
        (choice,) = record["choices"]
        delta = choice.pop("delta")
        answer["content"] += delta.pop("content", "")
        reasoning += delta.pop("reasoning_content", "")
        for piece in delta.pop("tool_calls", ()):
            joined(answer.setdefault("tool_calls", []), piece)
        assert not answer.keys() & delta.keys() - {"annotations"}
        assert not (delta.get("annotations") and answer["annotations"])
        answer |= delta | without_place(choice)
        answer |= {key: value for key, value in record.items() if key == "prompt_filter_results"}
    return answer | ({"reasoning_content": reasoning} if reasoning else {})


def joined(calls: list[Any], piece: Any) -> None:
    """Add a piece of a tool call, as the SDKs do: at its index, with the arguments behind those before."""
    index = piece.pop("index")
    if index == len(calls):
        calls.append(piece)
    else:
        calls[index]["function"]["arguments"] += piece["function"]["arguments"]


def whole_openai(document: Any) -> Read:
    if "error" in document:
        return document
    (choice,) = document["choices"]
    message = {key: value for key, value in choice.pop("message").items() if key != "refusal"}
    message["content"] = message["content"] or ""
    found = {key: value for key, value in document.items() if key == "prompt_filter_results"}
    return message | {key: value for key, value in choice.items() if key != "logprobs"} | found


READERS: dict[str, tuple[Callable[[list[Any]], Read], Callable[[Any], Read]]] = {
    "ai-chat": (read_deltas, dict),
    "ai-chat-2024-05-29": (read_deltas, dict),
    "ai-chat-2024-01-28": (read_choices, dict),
    "semantic-kernel": (read_csharp, whole_csharp),
    "semantic-kernel-python": (read_python, whole_python),
    "openai": (read_openai, whole_openai),
}
"""How the clients of a protocol put a stream together, and the same of its document; by the protocol's name."""


def texts_in(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    match value:
        case str():
            yield value
        case dict() | list():
            inside = cast("dict[str, Any] | list[Any]", value)
            for one in inside.values() if isinstance(inside, dict) else inside:
                yield from texts_in(one)
        case _:
            pass


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_the_text_is_in_the_document_and_each_piece_of_it_in_the_stream(name: str) -> None:
    """For every protocol in the table; those with a reader are held to more below."""
    protocol, events = PROTOCOLS[name], SCENARIOS["answer"]
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    if name == "azure-openai":  # names its sources by their numbers
        pieces = [piece.replace("[plan.pdf#page=3]", "[doc1]") for piece in pieces]
    stream = stream_of(protocol, events)
    if protocol.answer:
        assert msgspec.json.encode("".join(pieces)) in await document_of(protocol, events)
    assert set(pieces) <= set(texts_in(records_of(stream)))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", READERS)
async def test_the_stream_reads_as_the_document(name: str, scenario: str) -> None:
    protocol, events = PROTOCOLS[name], SCENARIOS[scenario]
    read, whole = READERS[name]
    document: Any = msgspec.json.decode(await document_of(protocol, events))
    records = records_of(stream_of(protocol, events))
    if scenario in ("azure", "annotated") and not protocol.filter_ends:
        assert "error" in records.pop()  # so that a page shows why the text stops, as the text of the document does
        told = notice_of(Finished("content_filter"))
        document = msgspec.json.decode(msgspec.json.encode(document).replace(msgspec.json.encode(told)[1:-1], b""))
    assert read(records) == whole(document)


@pytest.mark.parametrize("name", READERS)
async def test_what_azures_filters_find_is_passed_on_and_in_a_stream_as_soon_as_it_is_known(name: str) -> None:
    protocol = PROTOCOLS[name]
    violent = b'{"violence":{"filtered":true,"severity":"high"}}'
    prompt = b'{"hate":{"filtered":false,"severity":"safe"}}'
    for told in (await document_of(protocol, SCENARIOS["azure"]), stream_of(protocol, SCENARIOS["azure"])):
        assert violent in told
        assert prompt in told
    assert violent[1:-1] in await document_of(protocol, SCENARIOS["annotated"])
    lines = stream_of(protocol, SCENARIOS["annotated"]).splitlines()
    first, second = ([line for line in lines if b'"check_offset":%d,' % offset in line] for offset in (8, 44))
    assert prompt in first[0]
    assert violent in second[0]
    assert lines.index(first[0]) < next(number for number, line in enumerate(lines) if b"fast" in line)


@pytest.mark.parametrize("name", [name for name in READERS if not PROTOCOLS[name].team_is_one])
async def test_what_azures_filters_find_in_an_agents_prompt_is_passed_on_with_the_agents_message(name: str) -> None:
    protocol = PROTOCOLS[name]
    message = replace(RESEARCHER, completion=replace(STARTED, prompt_filter_results=PROMPT_FOUND))
    events = (TEAM, message, Finished("stop"))
    found = msgspec.json.encode(PROMPT_FOUND)
    assert found in await document_of(protocol, events)
    assert found in stream_of(protocol, events)


def without_total(message: Any) -> Any:
    """A message in Semantic Kernel's shapes: the stream has the total on its last one, the array on its own."""
    for key in ("Metadata", "metadata"):
        for total in ("TotalUsage", "total_usage"):
            message.get(key, {}).pop(total, None)
    return message


@pytest.mark.parametrize("scenario", ["team", "team_late", "team_guarded", "team_consent_asked", "team_consent_given"])
@pytest.mark.parametrize("name", ["semantic-kernel", "semantic-kernel-python"])
async def test_a_teams_stream_in_semantic_kernel_is_the_messages_of_the_array_as_they_come(
    name: str, scenario: str
) -> None:
    protocol, events = PROTOCOLS[name], TEAM_SCENARIOS[scenario]
    streamed = records_of(stream_of(protocol, events))
    whole = msgspec.json.decode(await document_of(protocol, events))
    assert sorted(map(without_total, streamed), key=str) == sorted(map(without_total, whole), key=str)


@pytest.mark.parametrize(
    ("name", "text", "context"),
    [
        ("ai-chat", ("message", "content"), ("context",)),
        ("ai-chat-2024-05-29", ("message", "content"), ("context",)),
        ("ai-chat-2024-01-28", ("choices", 0, "message", "content"), ("choices", 0, "context")),
    ],
)
async def test_a_teams_stream_elsewhere_reads_as_one_answer_with_every_message_and_source(
    name: str, text: tuple[Any, ...], context: tuple[Any, ...]
) -> None:
    def at(value: Any, path: tuple[Any, ...]) -> Any:
        return at(value[path[0]], path[1:]) if path else value

    protocol, events = PROTOCOLS[name], TEAM_SCENARIOS["team"]
    read = READERS[name][0](records_of(stream_of(protocol, events)))
    first, second = msgspec.json.decode(await document_of(protocol, events))
    assert at(read, text) == f"{at(second, text)}\n\n{at(first, text)}"
    sources = [point for part in (second, first) for point in at(part, context)["data_points"]["text"]]
    assert at(read, context)["data_points"]["text"] == list(dict.fromkeys(sources))
    assert at(read, context)["thoughts"] == [*at(second, context)["thoughts"], *at(first, context)["thoughts"]]
    total = second if "total_usage" in second else second["context"]
    usage = read["usage"] if "usage" in read else read["context"]["usage"]
    assert usage == total["total_usage"]
    assert "total_usage" not in str(first)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_text_of_an_agent_has_no_sources_beside_it_where_clients_take_these_for_context_alone(name: str) -> None:
    if name.startswith("semantic-kernel"):
        return
    for line in stream_of(PROTOCOLS[name], TEAM_SCENARIOS["team"]).splitlines():
        assert not (b"data_points" in line and b'"content":"' in line)


@pytest.mark.parametrize("name", sorted(PROTOCOLS.keys() - LATE.keys()))
def test_the_context_is_the_first_record_and_the_followups_have_the_last(name: str) -> None:
    first, *_, last = stream_of(PROTOCOLS[name], SCENARIOS["followups"]).strip().split(b"\n")
    assert b'"data_points"' in first
    assert b"It pays" not in first.partition(b'"data_points"')[0]
    assert b"Who is covered?" in last
    assert b'"data_points"' not in last


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_record_is_one_line_whatever_the_text_holds(name: str) -> None:
    """Python's `splitlines`, which many clients use, ends a line at more characters than line feeds."""
    events = [TextDelta(f"one{end}two") for end in "\n\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029"]
    stream = stream_of(PROTOCOLS[name], (SCENARIOS["answer"][0], *events, Finished("stop")))
    lines = [line for line in stream.decode().splitlines() if line]
    assert lines == [line for line in stream.decode().split("\n") if line]
    assert {event.text for event in events} <= set(texts_in(records_of(stream)))
    assert stream.endswith(PROTOCOLS[name].framing.after)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_keep_alive_of_server_sent_events_is_a_comment(name: str) -> None:
    framing = PROTOCOLS[name].framing
    if framing.before:
        assert framing.keep_alive.startswith(b":")
        assert framing.keep_alive.endswith(b"\n\n")


@pytest.mark.parametrize("name", [name for name in READERS if not PROTOCOLS[name].framing.before])
def test_a_keep_alive_of_lines_adds_nothing(name: str) -> None:
    read, _ = READERS[name]
    first, second, *rest = stream_of(PROTOCOLS[name], SCENARIOS["answer"]).splitlines(keepends=True)
    silent = b"".join([first, second, PROTOCOLS[name].framing.keep_alive, *rest])
    assert read(records_of(silent)) == read(records_of(first + second + b"".join(rest)))
