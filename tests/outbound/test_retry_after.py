"""How long a service asks to wait, as clients of OpenAI and of Azure hold its headers."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from azure.core.exceptions import HttpResponseError
from multidict import CIMultiDict

from shared.outbound.azure_service.faults import fault_of
from shared.outbound.retry_after import retry_after_of

type Read = Callable[[Mapping[str, str]], float | None]


def of_openai(headers: Mapping[str, str]) -> float | None:
    return retry_after_of(httpx2.Headers(dict(headers)))


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
