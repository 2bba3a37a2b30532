"""A turn's events, as they come, to the bytes of a stream."""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence

from shared.chat_types import ChatRequest
from shared.events import ChatEvent
from shared.wire.protocol import Protocol


async def stream_bytes(
    protocol: Protocol, request: ChatRequest, batches: AsyncIterable[Sequence[ChatEvent]]
) -> AsyncGenerator[bytes]:
    """Yield one piece of bytes a batch that says something, for one write each; an empty batch is a keep-alive."""
    encoder, framing = protocol.encoder(request), protocol.framing
    async for batch in batches:
        records = [framing.frame(record) for event in batch for record in encoder.encode(event)]
        if records or not batch:
            yield b"".join(records) or framing.keep_alive
