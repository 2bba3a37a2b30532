"""Whose budget a request is counted in."""

import pytest
from starlette.requests import Request

from shared.budgets import Clock, Limits
from shared.budgets.ledger import Ledger
from shared.budgets.standing import STEP_SECONDS
from shared.chat_types import Caller
from shared.errors import NotConfigured
from shared.settings import Settings
from shared.triggers.budget import address_of, caller_key
from shared.triggers.errors import error_response


def request(*values: str, header: str = "X-Azure-SocketIP") -> Request:
    """Return a request of 10.0.0.1 with a header that comes so many times."""
    headers = [(header.lower().encode(), value.encode()) for value in values]
    return Request({"type": "http", "headers": headers, "client": ("10.0.0.1", 50_000)})


@pytest.mark.parametrize(
    ("values", "address"),
    [
        (["203.0.113.9:51034"], "203.0.113.9"),
        (["203.0.113.9"], "203.0.113.9"),
        (["1.1.1.1, 203.0.113.9:51034"], "203.0.113.9"),
        (["1.1.1.1", "2.2.2.2,203.0.113.9:51034"], "203.0.113.9"),
        (["[2001:db8:1:2:3:4:5:6]:443"], "2001:db8:1:2::/64"),
        (["2001:db8:1:2:ffff::1"], "2001:db8:1:2::/64"),
        (["[2001:db8:1:2::1]"], "2001:db8:1:2::/64"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, "], ""),
        (["unknown"], ""),
        ([""], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
)
def test_the_last_entry_of_the_one_header_counts(values: list[str], address: str) -> None:
    assert address_of(request(*values), "X-Azure-SocketIP") == address


def test_no_other_header_counts_and_none_where_the_platform_writes_none() -> None:
    assert address_of(request("203.0.113.9", header="X-Forwarded-For"), "X-Azure-SocketIP") == "10.0.0.1"
    assert address_of(request("203.0.113.9", header="X-Forwarded-For"), None) == "10.0.0.1"
    in_azure = {"WEBSITE_SITE_NAME": "contoso"}
    assert [Settings.read(one).address_header for one in ({}, in_azure)] == [None, "X-Forwarded-For"]
    assert Settings.read(in_azure | {"CLIENT_ADDRESS_HEADER": "X-Real-IP"}).address_header == "X-Real-IP"


@pytest.mark.parametrize("wrong", ["X-Real-IP, X-Forwarded-For", "X Real", "Ä", "x" * 101])
def test_what_names_no_header_is_an_error(wrong: str) -> None:
    with pytest.raises(NotConfigured, match="CLIENT_ADDRESS_HEADER: should be the name of one header"):
        Settings.read({"CLIENT_ADDRESS_HEADER": wrong})


def test_who_is_signed_in_has_one_budget_wherever_he_is() -> None:
    user = Caller("oid", tenant="t")
    assert caller_key(user, "192.0.2.7") == caller_key(user, "192.0.2.8") != caller_key(Caller("oid"), "192.0.2.7")
    assert caller_key(Caller(), "192.0.2.7") != caller_key(Caller(), "192.0.2.8")
    assert caller_key(Caller("192.0.2.7"), "") != caller_key(Caller(), "192.0.2.7")


def test_each_key_has_one_budget_that_no_user_has() -> None:
    key = Caller(key="report")
    assert caller_key(key, "192.0.2.7") == caller_key(key, "192.0.2.8") != caller_key(Caller(key="flows"), "192.0.2.7")
    assert caller_key(key, "192.0.2.7") not in (caller_key(Caller("report"), ""), caller_key(Caller(), "report"))


@pytest.mark.parametrize("second", range(STEP_SECONDS))
def test_who_has_used_up_a_minute_is_told_how_long_to_wait_at_each_moment(second: int) -> None:
    ledger = Ledger(Limits(requests=1), Limits(), Clock(lambda: 1_000.0 + second, lambda: 0.0))
    ledger.admit("a")
    refusal = ledger.admit("a").refusal
    asked = Request({"type": "http", "headers": [(b"x-ms-invocation-id", b"i-1")]})
    assert refusal
    wait = 60 + STEP_SECONDS - second
    assert f"Try again in {wait} seconds." in refusal.message
    assert error_response(refusal, asked).headers.get("retry-after") == (str(wait) if wait <= 60 else None)
