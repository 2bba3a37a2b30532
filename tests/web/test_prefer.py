"""`Prefer` as RFC 7240 has it, and `Idempotency-Key`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BadRequest
from shared.runs.begin import read_key
from shared.web.receiving import Preferences, read_preferences

LATER = Preferences(respond_async=True)


@pytest.mark.parametrize(
    ("values", "preferences"),
    [
        (["respond-async"], LATER),
        (["Respond-Async"], LATER),
        (["respond-async, wait=10"], Preferences(respond_async=True, wait=10)),
        (["respond-async; wait=10"], LATER),  # a parameter is no preference
        (["wait=10, respond-async"], Preferences(respond_async=True, wait=10)),
        (["respond-async,wait = 10"], Preferences(respond_async=True, wait=10)),
        (['respond-async, wait="10"'], Preferences(respond_async=True, wait=10)),
        (["respond-async", "wait=10"], Preferences(respond_async=True, wait=10)),
        (["respond-async, wait=5, wait=10"], Preferences(respond_async=True, wait=5)),
        (["respond-async, wait=100000"], Preferences(respond_async=True, wait=60)),
        (['respond-async; foo="a, wait=3"; bar'], LATER),
        (['foo; p="respond-async, wait=3"'], Preferences()),
        (["foo, , respond-async,"], LATER),
        (['respond-async=""'], LATER),  # an empty value is no value
        (["respond-async=yes"], Preferences()),
        (["respond-async yes"], Preferences()),
        (["respond-asyncx"], Preferences()),
        (["respond-async, wait=-1"], LATER),
        (["respond-async, wait=1.5"], LATER),
        (["respond-async, wait=" + "9" * 5000], LATER),
        (["respond-async, wait=١٠"], LATER),
        ([", " * 5000 + "respond-async"], Preferences()),
        (['"' + '\\"' * 3000], Preferences()),
        ([], Preferences()),
        ([""], Preferences()),
    ],
)
def test_a_preference_is_read_and_nonsense_is_ignored(values: list[str], preferences: Preferences) -> None:
    assert read_preferences(values) == preferences


@given(st.lists(st.text(), max_size=3))
def test_no_header_is_an_error(values: list[str]) -> None:
    read_preferences(values)


@pytest.mark.parametrize(
    ("values", "key"), [([], None), (["a b"], "a b"), (['"a"'], "a"), (["a" * 255], "a" * 255), (['"'], '"')]
)
def test_a_key_is_read_with_and_without_quotes(values: list[str], key: str | None) -> None:
    assert read_key(values) == key


@pytest.mark.parametrize("values", [[""], [" "], ['""'], ["a" * 256], ["k" * 10_000], ["a\tb"], ["é"], ["a", "b"]])
def test_a_key_that_is_none_is_refused(values: list[str]) -> None:
    with pytest.raises(BadRequest, match="Idempotency-Key"):
        read_key(values)


def test_a_value_made_to_be_slow_is_read_at_once() -> None:
    # With a pattern that backtracks this takes longer than anyone waits: the test then ends at its time limit.
    assert read_preferences(["respond-async" + " ;" * 400 + "("]) == LATER  # its parameters say nothing
