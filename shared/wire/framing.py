"""Framing: JSON records to the bytes of a stream. Every record, the error's too, ends the same way."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from shared.chat_types import Json

_encoder = msgspec.json.Encoder()


def encode_json(value: Json) -> bytes:
    """Compact UTF-8 JSON on one line; what JSON cannot say, such as NaN, is null."""
    return _encoder.encode(value)


@dataclass(frozen=True, slots=True)
class Framing:
    """How records are told apart in a stream."""

    content_type: str
    """The stream's media type."""
    before: bytes
    """What starts a record."""
    after: bytes
    """What ends a record."""
    keep_alive: bytes
    """What a reader skips, sent when there is nothing to say."""

    def frame(self, record: Mapping[str, Json]) -> bytes:
        """One record as bytes."""
        return self.before + _encoder.encode(record) + self.after


NDJSON = Framing("application/json-lines", b"", b"\n", b'{"delta":{}}\n')
"""ai-chat-protocol, 'Streaming response'. The keep-alive is a line that adds nothing."""

SSE = Framing("text/event-stream", b"data: ", b"\n\n", b": keep-alive\n\n")
"""Server-sent events as ChatUI reads them: one `data:` line an event, LF only, comments skipped, no `[DONE]`."""

JSON_LINES = Framing("application/jsonl", b"", b"\n", b'{"delta":{}}\n')
"""The same lines under the media type of the 2024-05-29 protocol."""
