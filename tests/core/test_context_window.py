"""History is cut oldest first, and never through a tool call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_types import Message, Role, ToolCall
from shared.core.context_window import estimate_tokens, fit_history

RULES = Message(Role.SYSTEM, "Be kind.")
OLD, NEW = Message(Role.USER, "a" * 400), Message(Role.ASSISTANT, "b" * 400)
CALL = Message(Role.ASSISTANT, "", (ToolCall("1", "search", "{}"), ToolCall("2", "search", "{}")))
RESULTS = (Message(Role.TOOL, "one", tool_call_id="1"), Message(Role.TOOL, "two", tool_call_id="2"))


def test_everything_stays_when_it_fits() -> None:
    assert fit_history([RULES, OLD, NEW]) == (RULES, OLD, NEW)


def test_the_oldest_goes_first_and_system_messages_stay() -> None:
    assert fit_history([RULES, OLD, NEW], budget=150) == (RULES, NEW)
    assert fit_history([RULES, OLD, NEW], budget=0) == (RULES,)


def test_nothing_older_than_a_dropped_message_stays() -> None:
    short = Message(Role.USER, "hi")
    assert fit_history([short, OLD, NEW], budget=150) == (NEW,)


def test_a_tool_call_stays_with_all_its_results_or_goes_with_them() -> None:
    assert fit_history([CALL, *RESULTS, NEW]) == (CALL, *RESULTS, NEW)
    assert fit_history([CALL, *RESULTS, NEW], budget=110) == (NEW,)


def test_half_of_a_tool_call_goes() -> None:
    assert fit_history([CALL, RESULTS[0], NEW]) == (NEW,)
    assert fit_history([RESULTS[0], NEW]) == (NEW,)


@pytest.mark.timeout(20)
def test_very_many_system_messages_stay_and_take_no_long_time() -> None:
    """The time limit is what quadratic work would exceed."""
    assert len(fit_history([RULES] * 400_000)) == 400_000


@given(st.lists(st.sampled_from([RULES, OLD, NEW, CALL, *RESULTS]), max_size=30), st.integers(0, 2000))
def test_what_is_kept_fits_the_budget_and_keeps_its_order(messages: list[Message], budget: int) -> None:
    kept = fit_history(messages, budget)
    assert sum(estimate_tokens(message) for message in kept if message is not RULES) <= budget
    remaining = iter(messages)
    assert all(any(message is candidate for candidate in remaining) for message in kept)


class CountedId(str):
    """An id that counts how often any of its kind is looked up."""

    lookups = 0

    def __hash__(self) -> int:
        CountedId.lookups += 1
        return super().__hash__()

    __slots__ = ()


@pytest.mark.parametrize("results", [15_000, 990, 0])
def test_tool_calls_and_results_are_matched_with_a_few_lookups_each(results: int) -> None:
    calls = tuple(ToolCall(CountedId(number), "f", "") for number in range(15_000))
    answered = [Message(Role.TOOL, "", tool_call_id=CountedId(number)) for number in range(results)]
    CountedId.lookups = 0
    kept = fit_history([Message(Role.ASSISTANT, "", calls), *answered], budget=1_000_000)
    assert len(kept) == (1 + results if results == len(calls) else 0)
    assert CountedId.lookups <= 2 * (len(calls) + results)
