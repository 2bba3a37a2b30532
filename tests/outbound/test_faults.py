"""The failure table of all services, and how long a service asks to wait."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from azure.core.exceptions import HttpResponseError
from multidict import CIMultiDict

from shared import errors
from shared.errors import BadRequest, ContentFiltered, NotConfigured, RateLimited, TooSlow, Unavailable
from shared.guard.rai.session import ERRORS as SAFETY
from shared.outbound.azure_service.asking import fault_of
from shared.outbound.azure_service.storage import BLOBS
from shared.outbound.azure_service.storage import TABLES as STORED_TABLES
from shared.outbound.faults import ErrorTable, Fault, Reason, reason_of_status, retry_after_of
from shared.outbound.openai_service.reasons import ERRORS as MODEL
from shared.retrieval.azure_search.connection import ERRORS as SEARCH

TABLES = [MODEL, ErrorTable("Azure AI Test", "TEST_ENDPOINT"), SEARCH, SAFETY, BLOBS, STORED_TABLES]
WORDS = {"setting": "S", "credential_advice": "A", "model_setting": "M", "index": "T", "settings": "S", "sent": "X"}

KINDS = {
    Reason.TOO_SLOW: TooSlow,
    Reason.WRONG_SERVICE: NotConfigured,
    Reason.OVERRIDE: BadRequest,
    Reason.TOO_LONG: BadRequest,
    Reason.FILTERED: ContentFiltered,
    Reason.RATE: RateLimited,
    Reason.QUOTA: RateLimited,
}


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_reason_has_its_error_and_a_whole_sentence_for_every_service(table: ErrorTable, reason: Reason) -> None:
    error = table.error(Fault(reason, param="seed", retry_after=2.1), **WORDS)
    kind = table.kinds.get(reason)
    assert type(error) is (getattr(errors, kind) if kind else KINDS.get(reason, Unavailable))
    assert error.message.endswith(".")
    assert error.message[0].isupper()
    assert not {"{", "}"} & set(error.message)
    assert "None" not in error.message


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize(("seconds", "shown"), [(None, 10), (0, 1), (0.2, 1), (1, 1), (1.01, 2), (59.5, 60)])
def test_a_rate_limit_of_any_service_says_how_many_whole_seconds_to_wait(
    table: ErrorTable, seconds: float | None, shown: int
) -> None:
    error = table.error(Fault(reason_of_status(429), retry_after=seconds), **WORDS)
    assert isinstance(error, RateLimited)
    assert error.retry_after == shown
    assert f"Try again in {shown} seconds" in error.message


type Read = Callable[[Mapping[str, str]], float | None]


def of_openai(headers: Mapping[str, str]) -> float | None:
    return retry_after_of(CIMultiDict(dict(headers)))


def of_azure(headers: Mapping[str, str]) -> float | None:
    error = HttpResponseError("x")
    error.status_code, error.response = 429, cast("Any", SimpleNamespace(headers=CIMultiDict(headers)))
    return fault_of(error).retry_after


@pytest.mark.parametrize("read", [of_openai, of_azure])
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ms-retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 -99999999999999999999"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "2300926067"}, 3600.0),
        ({"retry-after-ms": "2300926067000"}, 3600.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_it_is_read_in_each_form(read: Read, headers: dict[str, str], seconds: float | None) -> None:
    assert read(headers) == seconds


@pytest.mark.parametrize("read", [of_openai, of_azure])
def test_it_may_be_a_date(read: Read) -> None:
    asked = datetime.now(UTC)
    seconds = read({"Retry-After": format_datetime(asked + timedelta(seconds=30), usegmt=True)})
    passed = (datetime.now(UTC) - asked).total_seconds()
    assert seconds is not None
    assert 29 - passed <= seconds <= 30  # a date has whole seconds
