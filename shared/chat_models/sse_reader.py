"""Splits the bytes of server-sent events into the `data` of whole events, without reading the data."""

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""Limit for one event, in bytes: a service that sends no line ends must not fill the memory."""
MAX_LINES = 1_000_000
"""Limit for the lines of a stream. The longest answers of models, 128,000 tokens, have three for each token."""

_BOM = b"\xef\xbb\xbf"


class StreamTooLong(ValueError):
    """An event is over `MAX_EVENT_BYTES`, or the stream over `MAX_LINES`."""


class SseReader:
    """Reads one stream, whose events the network may split anywhere.

    Lines end at CR, LF or CRLF and nowhere else. Names, ids and retry times of events are skipped.

    Args:
        reads_errors: Whether a field `error`, as llama.cpp sends it, is an event `{"error": …}`.

    Source: HTML Living Standard, 9.2.6 Interpreting an event stream. Beyond it, the last event counts without its
    empty line too, as services leave that out.
    """

    def __init__(self, *, reads_errors: bool = False) -> None:
        self._reads_errors = reads_errors
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._lines_left = MAX_LINES
        self._after_cr = False
        self._at_start = True

    def feed(self, received: bytes) -> list[bytes]:
        """Add received bytes; return the data of the events that they complete.

        Raises:
            StreamTooLong: the event that is being read, or the stream, is over its limit.
        """
        if self._after_cr and received.startswith(b"\n"):
            received = received[1:]
            self._after_cr = False
        if received:
            self._after_cr = received.endswith(b"\r")
        if b"\r" in received:
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *others = received.split(b"\n")
        self._line += first  # in place: a long line may come in very many pieces
        events: list[bytes] = []
        if others:
            lines = [bytes(self._line), *others]
            self._line = bytearray(lines.pop())
            self._lines_left -= len(lines)
            events = self._take(lines)
        if len(self._line) + self._data_bytes > MAX_EVENT_BYTES or self._lines_left < 0:
            raise StreamTooLong
        return events

    def flush(self) -> list[bytes]:
        """Return the data of an event that the end of the stream completed."""
        last_lines, self._line = [bytes(self._line), b""], bytearray()
        return self._take(last_lines)

    def _take(self, lines: list[bytes]) -> list[bytes]:
        """Add whole lines; return the data of the events that they complete."""
        if self._at_start and lines:
            lines[0] = lines[0].removeprefix(_BOM)
            self._at_start = False
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line.startswith(b"data: ") else line[5:]
                self._data.append(value)
                self._data_bytes += len(value) + 1
            elif line == b"data":
                self._data.append(b"")
                self._data_bytes += 1
            elif self._reads_errors and line.startswith(b"error:"):
                events.append(b'{"error":%b}' % line[6:])
            elif not line and self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
                self._data_bytes = 0
        return events
