"""Counting requests and tokens, by a clock that the tests set."""

from contextlib import suppress

import pytest

from shared.budgets import Clock, Limits
from shared.budgets.ledger import Admission, Ledger
from shared.budgets.standing import Consumption
from shared.errors import RateLimited

NOON = 20_000 * 86_400.0 + 43_200


class SetClock:
    """A clock that stands until it is put forward."""

    def __init__(self) -> None:
        self.now = 1_003.0
        self.utc = NOON

    def forward(self, seconds: float) -> None:
        self.now += seconds
        self.utc += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.utc)


def admitted(ledger: Ledger, key: str, times: int) -> int:
    return sum(ledger.admit(key).refusal is None for _ in range(times))


def refused(admission: Admission) -> tuple[int, str]:
    assert admission.refusal
    return admission.refusal.retry_after, admission.refusal.message


def test_of_300_at_once_just_as_many_pass_as_may() -> None:
    ledger = Ledger(Limits(requests=7), Limits(), SetClock().clock)
    assert admitted(ledger, "a", 300) == 7


def test_each_caller_has_its_own_budget_and_all_have_one_together() -> None:
    ledger = Ledger(Limits(requests=3), Limits(requests=5), SetClock().clock)
    assert [admitted(ledger, caller, 10) for caller in "abc"] == [3, 2, 0]
    assert "from all callers together" in refused(ledger.admit("c"))[1]
    assert "5 requests a minute" in refused(ledger.admit("c"))[1]


def test_a_refused_request_uses_up_nothing() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(requests=1), Limits(requests=2), clock.clock)
    assert admitted(ledger, "a", 50) == 1
    assert admitted(ledger, "b", 50) == 1
    clock.forward(66)
    assert admitted(ledger, "a", 50) == 1


def test_whoever_waits_as_long_as_is_said_is_admitted_and_not_a_step_earlier() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(requests=2), Limits(), clock.clock)
    assert admitted(ledger, "a", 2) == 2
    clock.forward(1)
    wait, message = refused(ledger.admit("a"))
    assert 59 <= wait <= 66
    assert f"Try again in {wait} seconds" in message
    clock.forward(wait - 6)
    assert admitted(ledger, "a", 1) == 0
    clock.forward(6)
    assert admitted(ledger, "a", 2) == 2


def test_in_no_60_seconds_do_more_pass_than_may() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(requests=10), Limits(), clock.clock)
    passed: list[float] = []
    for _ in range(3_000):
        if ledger.admit("a").refusal is None:
            passed.append(clock.now)
        clock.forward(0.37)
    assert max(sum(start <= one < start + 60 for one in passed) for start in passed) == 10
    assert len(passed) > 0.85 * 10 * 3_000 * 0.37 / 60


def test_tokens_are_counted_until_midnight_utc() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(tokens=1_000), Limits(), clock.clock)
    ledger.admit("a").reserve(999)
    assert admitted(ledger, "a", 3) == 3
    ledger.admit("a").reserve(2)
    wait, message = refused(ledger.admit("a"))
    assert wait == 43_200
    assert "1,000 tokens a day (UTC)" in message
    assert "12 hours" in message
    assert admitted(ledger, "b", 1) == 1
    clock.forward(43_200)
    assert admitted(ledger, "a", 1) == 1


def test_all_callers_spend_from_one_budget() -> None:
    ledger = Ledger(Limits(), Limits(tokens=100), SetClock().clock)
    for number in range(10):
        ledger.admit(f"caller {number}").reserve(10)
    assert "from all callers together" in refused(ledger.admit("the next"))[1]


def test_a_correction_gives_back() -> None:
    ledger = Ledger(Limits(tokens=100), Limits(tokens=100), SetClock().clock)
    admission = ledger.admit("a")
    admission.reserve(100)
    assert ledger.admit("a").refusal
    admission.correct(-40)
    assert ledger.admit("a").headers()["x-ratelimit-remaining-tokens"] == "40"


def test_a_call_that_ends_after_midnight_gives_nothing_back_of_what_was_reserved_before() -> None:
    time = SetClock()
    ledger = Ledger(Limits(tokens=1_000), Limits(), time.clock)
    call = ledger.admit("a")
    call.reserve(1_000)
    time.forward(13 * 3_600)
    call.correct(-900)
    call.reserve(1_000)
    with pytest.raises(RateLimited):
        call.reserve(1)


def test_of_calls_at_the_same_time_only_the_last_may_go_over_the_limit() -> None:
    ledger = Ledger(Limits(tokens=1_000), Limits(), SetClock().clock)
    admissions = [ledger.admit("a") for _ in range(100)]
    begun = 0
    for admission in admissions:
        with suppress(RateLimited):
            admission.reserve(300)
            begun += 1
    assert begun == 4
    assert ledger.all.tokens_on(ledger.today) == 1_200


def test_the_headers_say_what_is_left_of_the_tighter_limit() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(requests=5, tokens=1_000), Limits(requests=100, tokens=900), clock.clock)
    admission = ledger.admit("a")
    admission.reserve(250)
    assert admission.headers() == {
        "ratelimit-policy": '"requests";q=5;w=60, "tokens";q=900;w=86400',
        "ratelimit": '"requests";r=4;t=62, "tokens";r=650;t=43200',
        "x-ratelimit-limit-requests": "5",
        "x-ratelimit-remaining-requests": "4",
        "x-ratelimit-reset-requests": "1m2s",
        "x-ratelimit-limit-tokens": "900",
        "x-ratelimit-remaining-tokens": "650",
        "x-ratelimit-reset-tokens": "12h0m0s",
    }


def test_nothing_is_said_of_limits_that_are_not_set() -> None:
    ledger = Ledger(Limits(requests=5), Limits(), SetClock().clock)
    assert not [name for name in ledger.admit("a").headers() if "token" in name]


def test_of_the_caller_that_called_longest_ago_the_requests_are_forgotten_and_not_the_tokens() -> None:
    ledger = Ledger(Limits(requests=1, tokens=100), Limits(), SetClock().clock, most_callers=3)
    ledger.spend("b", 60)
    assert [admitted(ledger, caller, 1) for caller in "abc"] == [1, 1, 1]
    assert admitted(ledger, "a", 1) == 0  # it has called again, so it is not the one
    assert admitted(ledger, "d", 1) == 1
    assert [admitted(ledger, caller, 1) for caller in "acd"] == [0, 0, 0]
    again = ledger.admit("b")
    assert again.refusal is None
    assert again.headers()["x-ratelimit-remaining-tokens"] == "40"
    ledger.spend("b", 40)
    assert admitted(ledger, "e", 1) == 1
    assert admitted(ledger, "f", 1) == 1
    assert admitted(ledger, "g", 1) == 1
    assert "100 tokens a day" in refused(ledger.admit("b"))[1]


def test_what_all_instances_used_counts_and_requests_fade() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(requests=10, tokens=100), Limits(), clock.clock)
    used = Consumption(tokens=100, day=ledger.today)
    for _ in range(8):
        used.count_request(clock.utc)
    ledger.exchanged(ledger.admit("a").account, Consumption(dict(used.steps)), Consumption())
    ledger.exchanged(ledger.admit("b").account, used.copy(), Consumption())
    assert "100 tokens a day" in refused(ledger.admit("b"))[1]
    assert refused(ledger.admit("b"))[0] == 43_200
    clock.forward(70)
    assert admitted(ledger, "a", 20) == 10
    assert ledger.admit("b").refusal


def told_at(ledger: Ledger) -> list[bool]:
    """Make a ledger of several instances; the list has, for each count, whether it has to be told at once."""
    told: list[bool] = []
    ledger.changed = told.append
    return told


def test_a_tenth_of_a_limit_has_to_be_told_at_once() -> None:
    ledger = Ledger(Limits(requests=30), Limits(tokens=1_000), SetClock().clock)
    told = told_at(ledger)
    admitted(ledger, "a", 3)
    assert told == [False, False, True]
    ledger.exchanged(ledger.admit("a").account, Consumption(), ledger.admit("a").account.unreported.copy())
    ledger.spend("b", 99)
    assert not told[-1]
    ledger.spend("c", 1)
    assert told[-1]


def test_callers_are_exchanged_at_first_sight_and_then_when_they_have_waited() -> None:
    clock = SetClock()
    ledger = Ledger(Limits(tokens=1_000), Limits(), clock.clock)
    told_at(ledger)
    ledger.spend("a", 1)
    assert ledger.due("at once") == []
    (account,) = ledger.due("soon")
    account.row = (ledger.today, "etag")
    ledger.exchanged(account, Consumption(), account.unreported.copy())
    assert not ledger.waits
    ledger.spend("a", 1)
    assert (ledger.waits, ledger.due("soon")) == (True, [])
    clock.forward(16)
    assert ledger.due("soon") == [account]
    ledger.spend("a", 99)
    assert ledger.due("at once") == [account]


def test_a_caller_who_is_refused_is_asked_after_and_one_who_is_forgotten_is_told_of() -> None:
    ledger = Ledger(Limits(tokens=10), Limits(), SetClock().clock, most_callers=2)
    told_at(ledger)
    ledger.spend("a", 10)
    (account,) = ledger.due("at once")
    ledger.exchanged(account, Consumption(tokens=10, day=ledger.today), account.unreported.copy())
    assert ledger.admit("a").refusal
    assert ledger.waits
    ledger.spend("b", 5)
    for number in range(2):
        ledger.admit(f"{number}")
    assert ledger.meter("b").account.unreported.tokens == 5


def test_nobody_is_named_to_others() -> None:
    ledger = Ledger(Limits(requests=1), Limits(), SetClock().clock)
    assert "somebody" not in ledger.admit("user tenant/somebody").account.digest
