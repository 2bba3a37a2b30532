"""Batches of events to pieces of bytes."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from shared.events import ChatEvent, TextDelta
from shared.wire.stream import stream_bytes
from shared.wire.table import PROTOCOLS
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
