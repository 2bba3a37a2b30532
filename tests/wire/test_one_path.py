"""A streamed answer, read the way clients read it, is the answer that the document holds."""

from typing import Any

import msgspec
import pytest

from shared.wire.table import PROTOCOLS
from tests.wire.scenarios import SCENARIOS
from tests.wire.test_goldens import document_of, stream_of


def read_deltas(stream: bytes) -> dict[str, Any]:
    """As azure-search-openai-demo's front end does: join the contents, merge the contexts key by key."""
    answer: dict[str, Any] = {"message": {"role": "assistant", "content": ""}, "context": {}}
    for line in stream.split(b"\n")[:-1]:
        record: dict[str, Any] = msgspec.json.decode(line)
        if "error" in record:
            return {"error": record["error"]}
        answer["message"]["content"] += record["delta"].get("content", "")
        answer["context"] |= record.pop("context", {})
        answer |= {key: value for key, value in record.items() if key != "delta"}
    return answer


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", ["ai-chat", "ai-chat-2024-05-29"])
async def test_the_stream_reads_as_the_document(name: str, scenario: str) -> None:
    protocol, events = PROTOCOLS[name], SCENARIOS[scenario]
    document: dict[str, Any] = msgspec.json.decode(await document_of(protocol, events))
    assert read_deltas(stream_of(protocol, events)) == document


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_context_is_the_first_record_and_the_followups_have_the_last(name: str) -> None:
    lines = stream_of(PROTOCOLS[name], SCENARIOS["followups"]).split(b"\n")[:-1]
    assert b'"data_points"' in lines[0]
    assert b'"content"' not in lines[0]
    assert list(msgspec.json.decode(lines[-1])["context"]) == ["followup_questions"]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_record_is_one_line_whatever_the_text_holds(name: str) -> None:
    stream = stream_of(PROTOCOLS[name], SCENARIOS["answer"])
    assert "\u2028".encode() in stream
    assert all(msgspec.json.decode(line) for line in stream.split(b"\n")[:-1])
    assert stream.endswith(b"\n")
