"""Framing: converts JSON records to the bytes of a stream. Every record, also an error, ends the same way."""

from collections.abc import Iterable, Mapping
from copy import replace

import msgspec

from shared.chat_types import Json

_encoder = msgspec.json.Encoder()
_LINE_ENDS = tuple((end.encode(), b"\\u%04x" % ord(end)) for end in "\x85\u2028\u2029")
"""Characters that JSON allows in a string and at which Python's `splitlines`, and so `httpx`, ends a line."""
_TYPE_AT = len(b'{"type":"')
"""Where the type of a record begins where events are named."""


def encode_json(value: Json) -> bytes:
    """Encode as compact UTF-8 JSON on one line; NaN and infinity become null."""
    return _encoder.encode(value)


class BrokenOff(Exception):
    """A stream has ended with an error, and its connection ends without the last bytes of a response."""


type Framed = bytes
"""A record with all bytes around it, as `Framing.frame` makes it."""

HOLE = "\0"
"""Stands in a record for a value that is not known yet."""


def one_line(value: Mapping[str, Json] | Json) -> bytes:
    """Encode as JSON on one line for every client."""
    line = _encoder.encode(value)
    if not line.isascii():
        for end, escaped in _LINE_ENDS:
            line = line.replace(end, escaped)
    return line


class Framing(msgspec.Struct, frozen=True):
    """How a stream separates its records."""

    content_type: str
    """The stream's media type."""
    before: bytes
    """The bytes before a record."""
    after: bytes
    """The bytes after a record."""
    keep_alive: bytes
    """The bytes sent when there has been no record for a while; clients ignore them."""
    end: bytes = b""
    """The bytes after the last record, also where that is an error."""
    breaks_off: bool = False
    """Whether the connection breaks off behind an error, without `end`: some clients see no other sign of one."""
    names_events: bool = False
    """Whether a line before each record names its `type`, which is its first key, as `event:` of server-sent events."""

    def join(self, records: Iterable[Mapping[str, Json] | Framed]) -> bytes:
        """Frame records, other than those that are framed already, and put them one after the other."""
        return b"".join([record if isinstance(record, bytes) else self.frame(record) for record in records])

    def frame(self, record: Mapping[str, Json]) -> Framed:
        """Convert one record to bytes, on one line for every client."""
        line = one_line(record)
        if self.names_events:
            kind = line[_TYPE_AT : line.index(b'"', _TYPE_AT)]
            return b"".join((b"event: ", kind, b"\n", self.before, line, self.after))
        return self.before + line + self.after

    def cut_at_holes(self, record: Mapping[str, Json]) -> list[bytes]:
        """Frame what many records of a stream have in common, once.

        Between two of the pieces goes `one_line` of a value: that costs a third of framing a dict for each token.
        """
        return self.frame(record).split(_encoder.encode(HOLE))


NDJSON = Framing("application/json-lines", b"", b"\n", b'{"delta":{}}\n')
"""ai-chat-protocol, 'Streaming response'. The keep-alive is a record with an empty delta."""

SSE = Framing("text/event-stream", b"data: ", b"\n\n", b": keep-alive\n\n")
"""Server-sent events as ChatUI reads them: one `data:` line per event, LF only, comments ignored, no `[DONE]`."""

SSE_DONE = replace(SSE, end=b"data: [DONE]\n\n")
"""The same with an end as OpenAI and AI SDK have it."""

SSE_OPENAI = replace(SSE_DONE, breaks_off=True)
"""The same for OpenAI's clients: that for .NET takes an error record for nothing, and a stream that ends for whole."""

JSON_LINES = Framing("application/jsonl", b"", b"\n", b'{"delta":{}}\n')
"""The same lines under the media type of the 2024-05-29 protocol."""
