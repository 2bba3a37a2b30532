"""The exact bytes of each protocol, for each scenario; `goldens/` holds them, reviewed like code.

`make goldens` writes them anew, for a review of what changed, with those of a protocol that is new in the table.
"""

import re
from collections.abc import AsyncGenerator
from copy import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from shared.chat_types import ChatRequest, ChatState, Message, Role
from shared.core.fold import fold
from shared.errors import SwitchboardError
from shared.events import AgentMessage, ChatEvent, DataPoint, Thought
from shared.wire.ai_chat_2024_01_28 import AI_CHAT_2024_01_28
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS
from tests.description.schemas import differences
from tests.wire.scenarios import RETRIEVED, SCENARIOS, TEAM_SCENARIOS
from tools.description.protocols import SHAPES
from tools.description.schemas import prefix_of, ref

GOLDENS = Path(__file__).parent / "goldens"
ALL_SCENARIOS = SCENARIOS | TEAM_SCENARIOS
REQUEST = ChatRequest(
    (Message(Role.USER, "What does it pay?"),),
    chat=ChatState({"n": 1.0, "s": None}, has_session_state=True),
    invocation_id="id-1",
)


def records_of(stream: bytes) -> list[Any]:
    """The JSON of each line or event."""
    lines = [line.removeprefix(b"data: ") for line in stream.split(b"\n") if line and not line.startswith(b"event: ")]
    return [msgspec.json.decode(line) for line in lines]


async def one_by_one(events: tuple[ChatEvent, ...]) -> AsyncGenerator[ChatEvent]:
    for event in events:
        yield event


def request_of(events: tuple[ChatEvent, ...]) -> ChatRequest:
    return replace(REQUEST, team=any(isinstance(event, AgentMessage) for event in events))


def stream_of(protocol: Protocol, events: tuple[ChatEvent, ...]) -> bytes:
    encoder = protocol.encoder(request_of(events))
    return protocol.framing.join(record for event in events for record in encoder.encode(event))


async def document_of(protocol: Protocol, events: tuple[ChatEvent, ...]) -> bytes:
    try:
        answer = await fold(one_by_one(events), filter_ends=protocol.filter_ends)
        assert protocol.answer
        encode, request = protocol.team_answer if answer.messages else protocol.answer, request_of(events)
        document = encode(request, answer)
        return encode_json(document) + b"\n"
    except SwitchboardError as error:
        return encode_json(protocol.error(error, "id-1")) + b"\n"


async def bytes_of(name: str, scenario: str) -> dict[Path, bytes]:
    """The golden files of one protocol and scenario, and what is in them: the stream and the document."""
    protocol, events = PROTOCOLS[name], ALL_SCENARIOS[scenario]
    golden = GOLDENS / name / scenario
    stream = {golden.with_suffix(".jsonl"): stream_of(protocol, events)}
    return stream | ({golden.with_suffix(".json"): await document_of(protocol, events)} if protocol.answer else {})


@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
@pytest.mark.parametrize("name", PROTOCOLS)
async def test_the_bytes_are_those_that_were_reviewed(name: str, scenario: str) -> None:
    for file, written in (await bytes_of(name, scenario)).items():
        assert written == file.read_bytes()


def test_every_golden_file_is_of_a_protocol_and_a_scenario() -> None:
    files = {path.relative_to(GOLDENS).with_suffix("").as_posix() for path in GOLDENS.rglob("*.json*")}
    assert files == {f"{name}/{scenario}" for name in PROTOCOLS for scenario in ALL_SCENARIOS}


@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_bytes_are_of_the_types_that_the_openapi_document_is_made_of(name: str, scenario: str) -> None:
    protocol, golden = PROTOCOLS[name], GOLDENS / name / scenario
    prefix = prefix_of(protocol)
    kind = f"{prefix}Team" if scenario in TEAM_SCENARIOS else prefix
    if protocol.answer:
        document = golden.with_suffix(".json").read_bytes()
        failed = document.startswith(b'{"error":')
        schema = SHAPES[protocol.name].error.__name__ if failed else f"{kind}Answer"
        assert not differences(ref(schema), msgspec.json.decode(document))
    for record in records_of(golden.with_suffix(".jsonl").read_bytes()):
        assert not differences(ref(f"{kind}Record"), record)


def test_the_thoughts_that_the_web_component_puts_into_its_page_are_escaped() -> None:
    thought = Thought("<b>Query</b>", [{"content": '<img src="x" onerror="steal()">'}])
    event = replace(RETRIEVED, thoughts=(thought, Thought("Two", "<i>")))
    [record] = records_of(stream_of(AI_CHAT_2024_01_28, (event,)))
    [choice] = cast("list[dict[str, Any]]", record["choices"])
    shown = choice["delta"]["context"]["thoughts"]
    assert "&lt;b&gt;Query&lt;/b&gt;" in shown
    assert "&lt;img src=" in shown
    assert re.findall(r"<\w+", shown) == ["<b", "<div", "<br"] * 2
    assert [said["title"] for said in choice["context"]["thoughts"]] == ["<b>Query</b>", "Two"]


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if "ai-chat" in name or "kernel" in name])
def test_a_source_is_one_line_with_its_name_whatever_lines_its_text_has(name: str) -> None:
    point = DataPoint("plan.pdf#page=3", "It pays\n\n80 %.\r\n\tAll of it.")
    stream = stream_of(PROTOCOLS[name], (replace(RETRIEVED, data_points=(point,)),))
    assert b'"text":["plan.pdf#page=3: It pays 80 %. All of it."]' in stream
