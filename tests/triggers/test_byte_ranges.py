"""Which part of a document is asked for: RFC 9110's conditions and ranges, and what breaks them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.documents import StoredDocument
from shared.triggers.byte_ranges import Asked, Part, asked_for

CHANGED = "Sat, 21 Nov 2026 10:11:12 GMT"
BEFORE, AFTER = "Sat, 21 Nov 2026 10:11:11 GMT", "Sun, 22 Nov 2026 10:11:12 GMT"


def document(size: int = 100) -> StoredDocument:
    return StoredDocument("plan.pdf", size, '"v1"', datetime(2026, 11, 21, 10, 11, 12, 345_678, UTC), kept=True)


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("bytes=0-9", Part(0, 10)),
        ("bytes=0-0", Part(0, 1)),
        ("bytes=99-99", Part(99, 1)),
        ("bytes=90-", Part(90, 10)),
        ("bytes=90-1000", Part(90, 10)),
        ("bytes=0-99999999999999999999999", Part(0, 100)),
        ("bytes=-10", Part(90, 10)),
        ("bytes=-100", Part(0, 100)),
        ("bytes=-101", Part(0, 100)),
        ("BYTES=0-9", Part(0, 10)),
        (" bytes = 0-9 ", Part(0, 10)),
        ("bytes=007-008", Part(7, 2)),
        ("bytes=100-", Asked.NOTHING_THERE),
        ("bytes=100-200", Asked.NOTHING_THERE),
        ("bytes=99999999999999999999999-", Asked.NOTHING_THERE),
        ("bytes=-0", Asked.NOTHING_THERE),
        ("bytes=9-0", Asked.WHOLE),
        ("bytes=200-150", Asked.WHOLE),
        ("bytes=0-9,20-29", Asked.WHOLE),
        ("bytes=", Asked.WHOLE),
        ("bytes=-", Asked.WHOLE),
        ("bytes=a-b", Asked.WHOLE),
        ("bytes=1.5-2", Asked.WHOLE),
        ("bytes=--5", Asked.WHOLE),
        ("bytes=+1-5", Asked.WHOLE),
        ("bytes=٣-٤", Asked.WHOLE),
        ("bytes=" + "9" * 6000 + "-", Asked.WHOLE),
        ("items=0-9", Asked.WHOLE),
        ("0-9", Asked.WHOLE),
        ("", Asked.WHOLE),
    ],
)
def test_a_range_is_what_it_says_or_nothing_at_all(header: str, asked: Part | Asked) -> None:
    assert asked_for("GET", {"range": header}, document()) == asked


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=0-0", "bytes=-1"])
def test_an_empty_document_has_no_part(header: str) -> None:
    assert asked_for("GET", {"range": header}, document(0)) is Asked.NOTHING_THERE
    assert asked_for("GET", {}, document(0)) is Asked.WHOLE


def test_only_get_has_ranges() -> None:
    assert asked_for("HEAD", {"range": "bytes=0-9"}, document()) is Asked.WHOLE


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({"if-none-match": '"v1"'}, True),
        ({"if-none-match": 'W/"v1"'}, True),
        ({"if-none-match": '"v0", "v1"'}, True),
        ({"if-none-match": '"a,b" , W/"v1"'}, True),
        ({"if-none-match": " * "}, True),
        ({"if-none-match": '"v0"'}, False),
        ({"if-none-match": '"v"1"'}, False),
        ({"if-none-match": "v1"}, False),
        ({"if-none-match": ""}, False),
        ({"if-modified-since": CHANGED}, True),
        ({"if-modified-since": AFTER}, True),
        ({"if-modified-since": BEFORE}, False),
        ({"if-modified-since": "yesterday"}, False),
        ({"if-modified-since": "Sat, 21 Nov 99999 10:11:12 GMT"}, False),
        ({"if-modified-since": ""}, False),
        ({"if-none-match": '"v0"', "if-modified-since": AFTER}, False),
        ({"if-none-match": '"v1"', "if-modified-since": BEFORE}, True),
    ],
)
def test_what_the_caller_has_is_not_sent_again(headers: dict[str, str], *, known: bool) -> None:
    for method in ("GET", "HEAD"):
        assert asked_for(method, headers, document()) is (Asked.NOT_MODIFIED if known else Asked.WHOLE)


@pytest.mark.parametrize(
    ("condition", "counts"),
    [
        ('"v1"', True),
        (CHANGED, True),
        ('"v0"', False),
        ('W/"v1"', False),
        (BEFORE, False),
        (AFTER, False),
        ("", False),
        ("nonsense", False),
    ],
)
def test_a_part_of_another_version_is_not_continued(condition: str, *, counts: bool) -> None:
    headers = {"range": "bytes=10-", "if-range": condition}
    assert asked_for("GET", headers, document()) == (Part(10, 90) if counts else Asked.WHOLE)


TEXTS = st.text() | st.from_regex(r"bytes=[0-9]{0,25}-[0-9]{0,25}", fullmatch=True) | st.just(CHANGED)


@given(
    st.dictionaries(st.sampled_from(["range", "if-range", "if-none-match", "if-modified-since"]), TEXTS),
    st.integers(0, 200),
)
def test_whatever_the_headers_are_a_part_lies_in_the_document(headers: dict[str, str], size: int) -> None:
    match asked_for("GET", headers, document(size)):
        case Part(start, length):
            assert 0 <= start < start + length <= size
        case Asked():
            pass
