"""How often one of Azure's AI services is asked, and what its faults are told as."""

import asyncio

import pytest
from azure.core.exceptions import HttpResponseError, ServiceRequestError

from shared.errors import BadRequest, SwitchboardError, TooSlow, Unavailable
from shared.outbound.azure_service.ai_service import AIService
from shared.outbound.azure_service.asking import BY_CLASS
from shared.outbound.faults import DEFAULTS, Reason

SERVICE = AIService("Azure AI Test", "TEST", "a text: shorten it")


def soon(seconds: float = 30.0) -> float:
    return asyncio.get_running_loop().time() + seconds


class Answers:
    """Raises these one by one, then answers; counts the calls."""

    def __init__(self, *errors: BaseException) -> None:
        self._errors = [*errors]
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "answer"


def with_status(status: int, message: str = "x") -> HttpResponseError:
    error = HttpResponseError(message)
    error.status_code = status
    return error


def error_of(reason: Reason) -> BaseException:
    """An error with this reason."""
    if status := next((status for status, of in DEFAULTS.statuses.items() if of is reason), None):
        return with_status(status)
    return next(kind for kind, of in BY_CLASS.items() if of is reason)("x")


@pytest.mark.parametrize("reason", sorted({*DEFAULTS.statuses.values(), *BY_CLASS.values()}, key=str))
async def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    with pytest.raises(SwitchboardError) as caught:
        await SERVICE.ask(Answers(error_of(reason)), deadline=soon(0.1))
    assert isinstance(caught.value, BadRequest) == (reason is Reason.NOT_ACCEPTED)
    assert "Azure AI Test" in caught.value.message
    assert caught.value.message.endswith(".")
    assert "{" not in caught.value.message


async def test_what_may_pass_is_tried_again() -> None:
    answers = Answers(ServiceRequestError("no route"))
    assert await SERVICE.ask(answers, deadline=soon()) == "answer"
    assert answers.calls == 2


async def test_a_retry_that_would_come_too_late_is_not_waited_for() -> None:
    answers = Answers(ServiceRequestError("no route"))
    with pytest.raises(Unavailable, match="TEST_ENDPOINT"):
        await SERVICE.ask(answers, deadline=soon(0.1))
    assert answers.calls == 1


async def test_what_is_only_slow_is_not_asked_again() -> None:
    calls: list[int] = []

    async def hang() -> None:
        calls.append(1)
        await asyncio.Event().wait()

    with pytest.raises(TooSlow):
        await SERVICE.ask(hang, deadline=soon(0.05))
    assert calls == [1]


async def test_the_services_own_words_go_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadRequest, match="does not accept a text: shorten it") as caught:
        await SERVICE.ask(
            Answers(with_status(400, "the secret of the document")), deadline=soon(), invocation_id="id-1"
        )
    assert caught.value.__suppress_context__
    assert "secret" not in f"{caught.value} {caught.value.__cause__} {caplog.text}"
    assert "Azure AI Test: NOT_ACCEPTED (HttpResponseError), status 400, invocation id-1" in caplog.text
