"""Whose budget a request is counted in."""

import pytest

from shared.chat_types import Caller
from shared.settings import Settings
from shared.triggers.budget import address_of, caller_key


@pytest.mark.parametrize(
    ("forwarded", "address"),
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
        ([], "10.0.0.1"),
    ],
)
def test_in_azure_only_what_the_platform_added_counts(forwarded: list[str], address: str) -> None:
    assert address_of(forwarded, "10.0.0.1", 1) == address


@pytest.mark.parametrize(
    ("proxies", "address"),
    [(0, "192.0.2.7"), (1, "203.0.113.3"), (2, "203.0.113.2"), (3, "203.0.113.1"), (4, "192.0.2.7")],
)
def test_the_entry_of_the_first_trusted_proxy_counts(proxies: int, address: str) -> None:
    forwarded = ["203.0.113.1, 203.0.113.2", "203.0.113.3"]
    assert address_of(forwarded, "192.0.2.7", proxies) == address


def test_azure_is_the_one_proxy_that_is_trusted_unless_a_setting_says_more() -> None:
    in_azure = {"WEBSITE_SITE_NAME": "contoso"}
    assert [Settings.read(environment).proxies for environment in ({}, in_azure)] == [0, 1]
    assert Settings.read(in_azure | {"TRUSTED_PROXIES": "2"}).proxies == 2


def test_who_is_signed_in_has_one_budget_wherever_he_is() -> None:
    user = Caller("oid", tenant="t")
    assert caller_key(user, "192.0.2.7") == caller_key(user, "192.0.2.8") != caller_key(Caller("oid"), "192.0.2.7")
    assert caller_key(Caller(), "192.0.2.7") != caller_key(Caller(), "192.0.2.8")
    assert caller_key(Caller("192.0.2.7"), "") != caller_key(Caller(), "192.0.2.7")


def test_each_key_has_one_budget_that_no_user_has() -> None:
    key = Caller(key="report")
    assert caller_key(key, "192.0.2.7") == caller_key(key, "192.0.2.8") != caller_key(Caller(key="flows"), "192.0.2.7")
    assert caller_key(key, "192.0.2.7") not in (caller_key(Caller("report"), ""), caller_key(Caller(), "report"))
