"""Batches of events to pieces of bytes."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from shared.events import AgentMessage, ChatEvent, Finished, TextDelta
from shared.wire.protocol import stream_bytes
from shared.wire.table import PROTOCOLS
from tests.wire.scenarios import TEAM
from tests.wire.test_goldens import REQUEST


async def batches(*several: Sequence[ChatEvent]) -> AsyncGenerator[Sequence[ChatEvent]]:
    for batch in several:
        yield batch


@pytest.mark.parametrize("name", ["ai-chat", "ai-chat-2024-05-29"])
async def test_a_batch_is_one_piece_and_silence_is_a_record_that_adds_nothing(name: str) -> None:
    events = batches([TextDelta("a"), TextDelta("b")], [], [TextDelta("c")])
    assert [piece async for piece in stream_bytes(PROTOCOLS[name], REQUEST, events)] == [
        b'{"delta":{"content":"a"}}\n{"delta":{"content":"b"}}\n',
        b'{"delta":{}}\n',
        b'{"delta":{"content":"c"}}\n',
    ]


async def test_silence_in_server_sent_events_is_a_comment() -> None:
    assert [piece async for piece in stream_bytes(PROTOCOLS["semantic-kernel"], REQUEST, batches([]))] == [
        b": keep-alive\n\n"
    ]


async def test_events_that_a_protocol_does_not_tell_make_no_bytes() -> None:
    events = batches([TEAM], [AgentMessage("Critic", 0, "Well.")], [Finished("stop")])
    (piece,) = [piece async for piece in stream_bytes(PROTOCOLS["semantic-kernel"], REQUEST, events)]
    assert piece.startswith(b'data: {"Role"')
