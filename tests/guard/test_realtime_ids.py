"""The two ids in one of a realtime answer."""

from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.errors import BadRequest
from shared.guard.payloads import build_message_id, read_message_id

IDS = st.text(min_size=1, max_size=30) | st.text("0123456789a", min_size=1, max_size=15)


def buildable(response_id: str, item_id: str) -> bool:
    try:
        build_message_id(response_id, item_id)
    except BadRequest:
        return False
    return True


def test_the_documents_example_is_built_and_read() -> None:
    assert build_message_id("res_01", "item_02") == "6res_017item_02"
    assert read_message_id("6res_017item_02") == ("res_01", "item_02")


def test_an_id_is_as_long_as_it_has_characters_whatever_bytes_they_take() -> None:
    assert build_message_id("résp", "項目𝄞") == "4résp3項目𝄞"
    assert read_message_id("4résp3項目𝄞") == ("résp", "項目𝄞")


def test_ids_that_start_with_digits_are_built_and_read() -> None:
    assert build_message_id("01_res", "2_item") == "601_res62_item"
    assert read_message_id("601_res62_item") == ("01_res", "2_item")


@given(IDS, IDS)
@example("é", "𝄞")
@example("x" * 9_999, "y" * 10)
def test_what_was_built_is_read_as_it_was(response_id: str, item_id: str) -> None:
    assume(buildable(response_id, item_id))
    assert read_message_id(build_message_id(response_id, item_id)) == (response_id, item_id)


@pytest.mark.parametrize(("response_id", "item_id"), [*product(["resp_A1b2", "1", "42abc"], ["item_C3d4", "7", "99x"])])
def test_ids_as_services_make_them_are_never_ambiguous(response_id: str, item_id: str) -> None:
    assert buildable(response_id, item_id)


def test_a_pair_whose_message_id_reads_in_two_ways_has_none() -> None:
    # 1|1|11|11111111111 is also 11|11111111111|1|1.
    with pytest.raises(BadRequest, match="more than one way"):
        build_message_id("1", "1" * 11)
    with pytest.raises(BadRequest, match="more than one way"):
        read_message_id("1" * 15)


@pytest.mark.parametrize(
    "message_id",
    [
        "",
        "0",
        "res_01",
        "6res_01",
        "6res_017item_0",
        "6res_017item_023",
        "06res_017item_02",
        "0" + "7item_02",
        "6res_010",
        "-6res_017item_02",
        "6res_01 7item_02",
        "٦res_017item_02",
        "9" * 10_000,
    ],
)
def test_what_is_no_message_id_is_refused(message_id: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_message_id(message_id)
    assert "6res_017item_02" in refused.value.message


@pytest.mark.parametrize(("response_id", "item_id"), [("", "item"), ("res", ""), ("x" * 10_000, "item")])
def test_ids_that_are_empty_or_too_long_are_refused(response_id: str, item_id: str) -> None:
    with pytest.raises(BadRequest, match="response_id and an item_id"):
        build_message_id(response_id, item_id)
