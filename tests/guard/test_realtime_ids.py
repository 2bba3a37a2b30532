"""The two ids in one of a realtime answer."""

import re
from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.errors import BadRequest
from shared.guard.payloads import build_message_id

IDS = st.text(min_size=1, max_size=30) | st.text("0123456789a", min_size=1, max_size=15)


def buildable(response_id: str, item_id: str) -> bool:
    try:
        build_message_id(response_id, item_id)
    except BadRequest:
        return False
    return True


def read(message_id: str) -> list[tuple[str, str]]:
    """Each way to read a message id as the two ids."""
    return [
        (response_id, item_id)
        for response_id, rest in _first_ids(message_id)
        for item_id, nothing in _first_ids(rest)
        if not nothing
    ]


def _first_ids(text: str) -> list[tuple[str, str]]:
    lengths = [text[:end] for end in range(1, 5) if re.fullmatch("[1-9][0-9]*", text[:end])]
    cuts = {len(length) + int(length): len(length) for length in lengths}
    return [(text[begin:end], text[end:]) for end, begin in cuts.items() if end <= len(text)]


def test_the_documents_example_is_built_and_read() -> None:
    assert build_message_id("res_01", "item_02") == "6res_017item_02"
    assert read("6res_017item_02") == [("res_01", "item_02")]


def test_an_id_is_as_long_as_it_has_characters_whatever_bytes_they_take() -> None:
    assert build_message_id("résp", "項目𝄞") == "4résp3項目𝄞"
    assert read("4résp3項目𝄞") == [("résp", "項目𝄞")]


def test_ids_that_start_with_digits_are_built_and_read() -> None:
    assert build_message_id("01_res", "2_item") == "601_res62_item"
    assert read("601_res62_item") == [("01_res", "2_item")]


@given(IDS, IDS)
@example("é", "𝄞")
@example("x" * 9_999, "y" * 10)
def test_what_was_built_is_read_as_it_was(response_id: str, item_id: str) -> None:
    assume(buildable(response_id, item_id))
    assert read(build_message_id(response_id, item_id)) == [(response_id, item_id)]


@pytest.mark.parametrize(("response_id", "item_id"), [*product(["resp_A1b2", "1", "42abc"], ["item_C3d4", "7", "99x"])])
def test_ids_as_services_make_them_are_never_ambiguous(response_id: str, item_id: str) -> None:
    assert buildable(response_id, item_id)


def test_a_pair_whose_message_id_reads_in_two_ways_has_none() -> None:
    # 1|1|11|11111111111 is also 11|11111111111|1|1.
    with pytest.raises(BadRequest, match="more than one way"):
        build_message_id("1", "1" * 11)
    assert len(read("1" * 15)) > 1


@pytest.mark.parametrize(("response_id", "item_id"), [("", "item"), ("res", ""), ("x" * 10_000, "item")])
def test_ids_that_are_empty_or_too_long_are_refused(response_id: str, item_id: str) -> None:
    with pytest.raises(BadRequest, match="response_id and an item_id"):
        build_message_id(response_id, item_id)
