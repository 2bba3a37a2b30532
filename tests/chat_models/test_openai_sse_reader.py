from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_models.sse_reader import MAX_EVENT_BYTES, MAX_LINES, SseReader, StreamTooLong


def read(pieces: list[bytes]) -> list[bytes]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.flush()


GOLDENS: dict[str, tuple[bytes, list[bytes]]] = {
    "line feeds": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "carriage returns and line feeds": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "carriage returns": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", [b"a", b"b", b"c"]),
    "several data lines": (b"data: a\ndata:b\ndata\n\n", [b"a\nb\n"]),
    "comments and other fields": (b": hi\nevent: x\nid: 1\nretry: 5\ndata: a\n\n: bye\n\n", [b"a"]),
    "no space, two spaces": (b"data:a\n\ndata:  a\n\n", [b"a", b" a"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "separators of Unicode": (
        "data: a\u2028b\u2029c\u0085d\x0b\x0c\x1c\n\n".encode(),
        ["a\u2028b\u2029c\u0085d\x0b\x0c\x1c".encode()],
    ),
    "last event without its empty line": (b"data: a\n\ndata: b\n", [b"a", b"b"]),
    "last event without any line end": (b"data: a\n\ndata: b", [b"a", b"b"]),
    "empty data": (b"data:\n\ndata: \n\n", [b"", b""]),
    "no data at all": (b"event: ping\n\n\n\n", []),
    "nothing": (b"", []),
    "a field whose name only starts like data": (b"database: a\n\n", []),
}


@pytest.mark.parametrize(("stream", "events"), GOLDENS.values(), ids=GOLDENS.keys())
def test_events_are_the_same_however_the_network_cuts_the_stream(stream: bytes, events: list[bytes]) -> None:
    assert read([stream]) == events
    assert read([bytes([byte]) for byte in stream]) == events
    for first, second in combinations(range(len(stream) + 1), 2):
        assert read([stream[:first], stream[first:second], stream[second:]]) == events


@given(
    st.lists(st.sampled_from([b"data: a", b"data:", b"x", b"\r", b"\n", b"\r\n", b": c", "\u2028".encode()])), st.data()
)
def test_any_stream_reads_the_same_whole_and_in_parts(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(pieces) == read([stream])


def test_an_event_comes_out_with_the_byte_that_completes_it() -> None:
    reader = SseReader()
    assert reader.feed(b"data: a\r\r") == [b"a"]
    assert reader.feed(b"\ndata: b\n") == []
    assert reader.feed(b"\n") == [b"b"]


@pytest.mark.parametrize("endless", [b"data: " + b"x" * 65536, b"data: " + b"x" * 65536 + b"\n"])
def test_an_event_that_never_ends_is_given_up(endless: bytes) -> None:
    with pytest.raises(StreamTooLong):
        read([endless] * (2 * MAX_EVENT_BYTES // len(endless)))


@pytest.mark.parametrize("endless", [b"\n", b"\r", b"data: {}\n\n", b": comment\r\n", b"data\n"])
def test_lines_without_an_end_are_given_up(endless: bytes) -> None:
    with pytest.raises(StreamTooLong):
        read([endless * 1_000] * (MAX_LINES // 1_000 + 1))


def test_the_longest_answer_of_a_model_is_read() -> None:
    events = 150_000
    assert len(read([b'event: x\ndata: {"choices":[]}\n\n' * 1_000] * (events // 1_000))) == events
