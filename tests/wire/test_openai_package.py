"""The goldens of OpenAI's protocols, by OpenAI's own Python package."""

import itertools
from typing import Any

import httpx2
import msgspec
import openai as sdk
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from shared.errors import ContentFiltered
from shared.events import ChatEvent, Failed, Finished
from shared.wire.azure_openai import AZURE_OPENAI
from shared.wire.openai import OPENAI
from shared.wire.openai_responses import OPENAI_RESPONSES
from shared.wire.protocol import Protocol
from tests.wire.scenarios import LOOK, LOOKED, STARTED
from tests.wire.test_goldens import ALL_SCENARIOS, document_of, records_of, stream_of

EVENT = TypeAdapter[Any](ResponseStreamEvent)


async def read(stream: bytes) -> tuple[list[Any], sdk.APIError | None]:
    """The events of a stream as the package's helper gives them, and the error that ended it."""
    sent = httpx2.Response(200, content=stream, headers={"content-type": "text/event-stream"})
    http = sdk.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(lambda _: sent))
    events: list[Any] = []
    async with sdk.AsyncOpenAI(api_key="any", http_client=http, max_retries=0) as client:
        try:
            async with client.responses.stream(model="any", input="any") as answer:
                events += [event async for event in answer]
        except sdk.APIError as error:
            return events, error
    return events, None


@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
def test_each_chunk_is_one_of_the_package(scenario: str) -> None:
    records = records_of(stream_of(OPENAI, ALL_SCENARIOS[scenario]))
    chunks = [ChatCompletionChunk.model_validate(record) for record in records if "error" not in record]
    assert len({chunk.id for chunk in chunks}) == 1
    assert "cut_off" in scenario or [choice.finish_reason for choice in chunks[-1].choices] != [None]


@pytest.mark.parametrize("scenario", [one for one in ALL_SCENARIOS if "cut_off" not in one and one != "blocked"])
@pytest.mark.parametrize(
    ("protocol", "kind"), [(OPENAI, ChatCompletion), (AZURE_OPENAI, ChatCompletion), (OPENAI_RESPONSES, Response)]
)
async def test_each_whole_answer_is_one_of_the_package(protocol: Protocol, kind: Any, scenario: str) -> None:
    document = msgspec.json.decode(await document_of(protocol, ALL_SCENARIOS[scenario]))
    if document["object"] == "extensions.chat.completion":  # as Azure names it
        document["object"] = "chat.completion"
    if not (kind is Response and scenario == "consent_refused"):  # see below
        kind.model_validate(document)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # for the same text of a failed call
@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
async def test_the_package_reads_each_stream(scenario: str) -> None:
    stream = stream_of(OPENAI_RESPONSES, ALL_SCENARIOS[scenario])
    if scenario != "consent_refused":  # the package takes the text of a failed call, though its type is an object
        for record in records_of(stream):
            EVENT.validate_python(record, strict=True)
    _, error = await read(stream)
    assert (error and error.message) == ("Too many. (invocation id-1)" if "cut_off" in scenario else None)


@pytest.mark.parametrize("scenario", [one for one in ALL_SCENARIOS if "cut_off" not in one])
def test_the_items_come_one_after_the_other_and_are_those_of_the_last_event(scenario: str) -> None:
    begun, done = list[int](), dict[int, Any]()
    *records, last = records_of(stream_of(OPENAI_RESPONSES, ALL_SCENARIOS[scenario]))
    for record in records:
        index = record.get("output_index")
        assert index not in done
        if record["type"] == "response.output_item.added":
            assert done.keys() == {*begun}
            begun.append(index)
        if record["type"] == "response.output_item.done":
            done[index] = record["item"]
    output = last["response"]["output"]
    assert begun == [*range(len(output))]
    assert [done[index] for index in begun] == output
    assert len({item["id"] for item in output}) == len(output)


TEAM_STOPPED = (*ALL_SCENARIOS["team"][:2], Failed(ContentFiltered("Refused."), "id-1"))
SILENT = (STARTED, LOOK, LOOKED, Finished("stop"))
ENDINGS: dict[str, tuple[ChatEvent, ...]] = {"silent": SILENT, "team_stopped": TEAM_STOPPED}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_whole_answer_is_the_end_of_its_stream(ending: str) -> None:
    *_, last = records_of(stream_of(OPENAI_RESPONSES, ENDINGS[ending]))
    assert last["response"] == msgspec.json.decode(await document_of(OPENAI_RESPONSES, ENDINGS[ending]))
    assert last["response"]["output"][-1]["type"] == "message"


async def test_the_text_of_a_team_that_a_filter_stops_says_so_whole_and_streamed() -> None:
    text = "".join(
        choice["delta"].get("content", "")
        for record in records_of(stream_of(OPENAI, TEAM_STOPPED))
        for choice in record["choices"]
    )
    document = msgspec.json.decode(await document_of(OPENAI, TEAM_STOPPED))
    assert document["choices"][0]["message"]["content"] == text
    assert "The content filter ended the answer here." in text


async def test_what_a_model_thinks_before_and_after_a_call_are_items_at_their_places() -> None:
    events, _ = await read(stream_of(OPENAI_RESPONSES, ALL_SCENARIOS["thoughts_around_a_tool"]))
    output = events[-1].response.output
    assert [item.type for item in output] == ["reasoning", "mcp_call", "reasoning", "message"]
    thoughts = ["".join(part.text for part in item.summary) for item in output if item.type == "reasoning"]
    assert thoughts == ["The order first.", "It is open."]
    deltas = [event for event in events if event.type == "response.reasoning_summary_text.delta"]
    by_item = {place: "".join(one.delta for one in of) for place, of in itertools.groupby(deltas, lambda d: d.item_id)}
    assert by_item == {output[0].id: thoughts[0], output[2].id: thoughts[1]}
