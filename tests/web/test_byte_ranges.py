"""Which part of a document is asked for: RFC 9110's conditions and ranges, and what breaks them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.documents import StoredDocument
from shared.web.byte_ranges import NotPartial, Part, select_part

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
        ("bytes=100-", NotPartial.NOT_SATISFIABLE),
        ("bytes=100-200", NotPartial.NOT_SATISFIABLE),
        ("bytes=99999999999999999999999-", NotPartial.NOT_SATISFIABLE),
        ("bytes=-0", NotPartial.NOT_SATISFIABLE),
        ("bytes=9-0", NotPartial.WHOLE),
        ("bytes=200-150", NotPartial.WHOLE),
        ("bytes=0-9,20-29", NotPartial.WHOLE),
        ("bytes=", NotPartial.WHOLE),
        ("bytes=-", NotPartial.WHOLE),
        ("bytes=a-b", NotPartial.WHOLE),
        ("bytes=1.5-2", NotPartial.WHOLE),
        ("bytes=--5", NotPartial.WHOLE),
        ("bytes=+1-5", NotPartial.WHOLE),
        ("bytes=٣-٤", NotPartial.WHOLE),
        ("bytes=" + "9" * 6000 + "-", NotPartial.WHOLE),
        ("items=0-9", NotPartial.WHOLE),
        ("0-9", NotPartial.WHOLE),
        ("", NotPartial.WHOLE),
    ],
)
def test_a_range_is_what_it_says_or_nothing_at_all(header: str, asked: Part | NotPartial) -> None:
    assert select_part("GET", {"range": header}, document()) == asked


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=0-0", "bytes=-1"])
def test_an_empty_document_has_no_part(header: str) -> None:
    assert select_part("GET", {"range": header}, document(0)) is NotPartial.NOT_SATISFIABLE
    assert select_part("GET", {}, document(0)) is NotPartial.WHOLE


def test_only_get_has_ranges() -> None:
    assert select_part("HEAD", {"range": "bytes=0-9"}, document()) is NotPartial.WHOLE


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
        assert select_part(method, headers, document()) is (NotPartial.NOT_MODIFIED if known else NotPartial.WHOLE)


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
    assert select_part("GET", headers, document()) == (Part(10, 90) if counts else NotPartial.WHOLE)


TEXTS = st.text() | st.from_regex(r"bytes=[0-9]{0,25}-[0-9]{0,25}", fullmatch=True) | st.just(CHANGED)


@given(
    st.dictionaries(st.sampled_from(["range", "if-range", "if-none-match", "if-modified-since"]), TEXTS),
    st.integers(0, 200),
)
def test_whatever_the_headers_are_a_part_lies_in_the_document(headers: dict[str, str], size: int) -> None:
    match select_part("GET", headers, document(size)):
        case Part(start, length):
            assert 0 <= start < start + length <= size
        case NotPartial():
            pass
