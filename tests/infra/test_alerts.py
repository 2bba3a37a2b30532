"""The alert of severity 1 over requests as the Functions host records them."""

import pytest

from tests.infra.compiler import INFRA
from tests.stand_ins.insights_tables import HostRequest, rows, tables_of

QUERY = (INFRA / "queries" / "server-errors.kql").read_text()
TIME = "2026-11-27T10:00:00"


def errors(*requests: HostRequest) -> int:
    """Return how many errors the alert counts."""
    return sum(row["errors"] for row in rows(tables_of([], requests), QUERY))


def failed(error: str, status: str = "500") -> HostRequest:
    """Return a request whose way from the host to the worker broke off: seen in the host 4.1037."""
    return HostRequest(TIME, "chat", status, f"Failed to proxy request with ForwarderError: {error}")


@pytest.mark.parametrize("error", ["RequestCanceled", "RequestBodyCanceled", "ResponseBodyCanceled"])
def test_callers_who_leave_early_ring_no_alert(error: str) -> None:
    assert errors(*[failed(error)] * 6) == 0


def test_a_stream_that_its_caller_left_is_no_error() -> None:
    assert errors(failed("ResponseBodyCanceled", status="200")) == 0


@pytest.mark.parametrize("error", ["RequestTimedOut", "Request", "ResponseBodyDestination"])
def test_a_worker_that_does_not_answer_is_counted(error: str) -> None:
    assert errors(failed(error)) == 1


def test_what_the_app_answers_itself_is_counted_beside_those_who_left() -> None:
    own = [HostRequest(TIME, "chat", status) for status in ("200", "429", "500", "503")]
    assert errors(*own, *[failed("RequestCanceled")] * 6) == 2


def never_arrived(status: str = "500") -> HostRequest:
    """Return a request that the host did not send to the worker, and whose invocation the app ended."""
    failure = "Result: Failure\nException: NeverArrived: The HTTP request of this invocation did not reach the app."
    return HostRequest(TIME, "chat", status, failure)


def test_requests_that_never_arrived_count_only_if_nothing_is_answered() -> None:
    assert errors(*[never_arrived()] * 6, HostRequest(TIME, "health", "200")) == 0
    assert errors(*[never_arrived()] * 6) == 6
