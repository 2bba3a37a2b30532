"""The exact bytes of each protocol, for each scenario; `goldens/` holds them, reviewed like code."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.chat_types import ChatRequest, Message, Role
from shared.core.fold import fold
from shared.errors import SwitchboardError
from shared.events import ChatEvent
from shared.wire.framing import encode_json
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS
from tests.wire.scenarios import SCENARIOS, TEAM_SCENARIOS

GOLDENS = Path(__file__).parent / "goldens"
REQUEST = ChatRequest(
    (Message(Role.USER, "What does it pay?"),), session_state={"n": 1.0, "s": None}, has_session_state=True
)


async def one_by_one(events: tuple[ChatEvent, ...]) -> AsyncGenerator[ChatEvent]:
    for event in events:
        yield event


def stream_of(protocol: Protocol, events: tuple[ChatEvent, ...]) -> bytes:
    encoder = protocol.encoder(REQUEST)
    return b"".join(protocol.framing.frame(record) for event in events for record in encoder.encode(event))


async def document_of(protocol: Protocol, events: tuple[ChatEvent, ...]) -> bytes:
    try:
        answer = await fold(one_by_one(events))
        document = protocol.team_answer(REQUEST, answer) if answer.messages else protocol.answer(REQUEST, answer)
        return encode_json(document) + b"\n"
    except SwitchboardError as error:
        return encode_json(protocol.error(error, "id-1")) + b"\n"


@pytest.mark.parametrize("scenario", SCENARIOS | TEAM_SCENARIOS)
@pytest.mark.parametrize("name", PROTOCOLS)
async def test_the_bytes_are_those_that_were_reviewed(name: str, scenario: str) -> None:
    protocol, events = PROTOCOLS[name], (SCENARIOS | TEAM_SCENARIOS)[scenario]
    golden = GOLDENS / name / scenario
    assert stream_of(protocol, events) == golden.with_suffix(".jsonl").read_bytes()
    assert await document_of(protocol, events) == golden.with_suffix(".json").read_bytes()
