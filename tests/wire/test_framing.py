"""Batches of events to pieces of bytes."""

from collections.abc import AsyncGenerator, Sequence
from copy import replace

import pytest

from shared.chat_types import Json
from shared.events import AgentMessage, ChatEvent, Finished, TextDelta
from shared.wire.framing import HOLE, SSE, one_line
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


@pytest.mark.parametrize("text", ["", "100 %", 'a "b" \\u0000', "\0", "one\u2028two\u0085three", "ü"])
def test_a_record_that_is_cut_at_its_holes_and_filled_in_is_the_same_record(text: str) -> None:
    def record(number: Json, text: str) -> dict[str, Json]:
        return {"type": "a.b", "id": "50 %", "number": number, "delta": {"text": text}}

    named = replace(SSE, names_events=True)
    for framing in (SSE, named):
        before, between, after = framing.cut_at_holes(record(HOLE, HOLE))
        filled = before + one_line(7) + between + one_line(text) + after
        assert framing.join([filled, record(1, text)]) == framing.frame(record(7, text)) + framing.frame(
            record(1, text)
        )
    assert filled.startswith(b'event: a.b\ndata: {"type":"a.b","id":"50 %","number":7,')
