"""Where the body of the worker's answer ends, however the network cuts it."""

import math

import pytest

from local.worker_connection import Body

CHUNKS = b"3\r\nabc\r\n1B;name=value\r\n0\r\n\r\n5678901234567890123456\r\n"
CONTENTS = b"abc0\r\n\r\n5678901234567890123456"
END = b"0\r\n\r\n"


def take(body: Body, *parts: bytes) -> bytes:
    taken = b""
    for part in parts:
        assert not body.is_complete
        taken += body.take(part)
    return taken


@pytest.mark.parametrize("cut", range(len(CHUNKS + END) - len(END) + 3))
def test_chunks_are_passed_on_without_the_end_at_every_split(cut: int) -> None:
    body = Body(None)
    assert take(body, (CHUNKS + END)[:cut], (CHUNKS + END)[cut:]) == CHUNKS
    assert body.is_complete


@pytest.mark.parametrize("cut", range(len(CHUNKS + END) - len(END) + 3))
def test_a_caller_who_knows_no_chunks_gets_their_contents_at_every_split(cut: int) -> None:
    body = Body(None, sizes_wanted=False)
    assert take(body, (CHUNKS + END)[:cut], (CHUNKS + END)[cut:]) == CONTENTS
    assert body.is_complete


@pytest.mark.parametrize(("sizes_wanted", "passed_on"), [(True, CHUNKS), (False, CONTENTS)])
def test_chunks_that_come_byte_by_byte_are_passed_on(sizes_wanted: bool, passed_on: bytes) -> None:
    body = Body(None, sizes_wanted=sizes_wanted)
    whole = CHUNKS + b"0\r\n"
    assert take(body, *(whole[at : at + 1] for at in range(len(whole)))) == passed_on
    assert body.is_complete


def test_chunks_are_not_complete_when_the_connection_ends() -> None:
    body = Body(None)
    assert take(body, CHUNKS) == CHUNKS
    body.end()
    assert not body.is_complete


def test_a_body_of_known_length_is_complete_after_so_many_bytes() -> None:
    body = Body(5)
    assert take(body, b"123", b"45") == b"12345"
    assert body.is_complete


def test_a_body_of_known_length_that_is_cut_off_is_not_complete() -> None:
    body = Body(5)
    assert take(body, b"123") == b"123"
    body.end()
    assert not body.is_complete


def test_a_body_without_length_ends_with_the_connection() -> None:
    body = Body(math.inf)
    assert take(body, b"123", b"45") == b"12345"
    body.end()
    assert body.is_complete
