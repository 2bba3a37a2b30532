"""How often an Azure AI service is asked, and what its errors mean."""

import asyncio
import importlib
from collections.abc import Iterator

import pytest
from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError

from shared.errors import BadRequest, SwitchboardError, TooSlow, Unavailable
from shared.retrieval.azure_ai_service import BY_CLASS, BY_STATUS, SENTENCES, AIService, Reason, reason_of

SERVICE = AIService("Azure AI Test", "https://example.com", None, "TEST_ENDPOINT", "TEST_API_KEY")

OF_A_STATUS = {
    "HttpResponseError",
    "ODataV4Error",
    "ResourceExistsError",
    "ResourceModifiedError",
    "ResourceNotFoundError",
    "ResourceNotModifiedError",
    "TooManyRedirectsError",
}
"""Only raised with an answer, whose status counts."""
OF_PARTS_WE_DO_NOT_USE = {"ResponseNotReadError", "StreamClosedError", "StreamConsumedError"}
OF_THE_SAME_REASON = {
    "CredentialUnavailableError": "ClientAuthenticationError",
    "AuthenticationRequiredError": "ClientAuthenticationError",
    "IncompleteReadError": "DecodeError",
    "ServiceRequestTimeoutError": "ServiceRequestError",
}
"""Not in the table, for they mean what their parent does."""


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for found in kind.__subclasses__():
        if found.__module__.startswith(("azure.core", "azure.identity", "azure.ai")):
            yield found
            yield from subclasses(found)


def test_every_exception_class_of_the_sdks_is_known_here() -> None:
    for module in ("azure.ai.documentintelligence.aio", "azure.identity.aio", "azure.core.exceptions"):
        importlib.import_module(module)
    known = {kind.__name__ for kind in BY_CLASS} | OF_A_STATUS | OF_PARTS_WE_DO_NOT_USE | {*OF_THE_SAME_REASON}
    assert {kind.__name__ for kind in subclasses(AzureError)} - known == set()
    for kind in subclasses(AzureError):
        if parent := OF_THE_SAME_REASON.get(kind.__name__):
            assert parent in {base.__name__ for base in kind.__mro__}


@pytest.mark.parametrize(("status", "reason"), [*BY_STATUS.items(), (302, Reason.NOT_AN_ANSWER), (599, Reason.BROKEN)])
def test_a_status_counts_before_the_class(status: int, reason: Reason) -> None:
    error = HttpResponseError("x")
    error.status_code = status
    assert reason_of(error) is reason


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    error = SERVICE.error(reason)
    assert isinstance(error, SENTENCES[reason][0])
    assert error.message.endswith(".")
    assert "{" not in error.message


class Answers:
    """Raises these one by one, then answers; counts the calls."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = [*errors]
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "answer"


async def test_what_may_pass_is_tried_again() -> None:
    answers = Answers(ServiceRequestError("no route"))
    assert await SERVICE.ask(answers, seconds=30) == "answer"
    assert answers.calls == 2


async def test_a_retry_that_would_come_too_late_is_not_waited_for() -> None:
    answers = Answers(ServiceRequestError("no route"))
    with pytest.raises(Unavailable, match="TEST_ENDPOINT"):
        await SERVICE.ask(answers, seconds=0.1)
    assert answers.calls == 1


async def test_what_is_only_slow_is_not_asked_again() -> None:
    calls: list[int] = []

    async def hang() -> None:
        calls.append(1)
        await asyncio.Event().wait()

    with pytest.raises(TooSlow):
        await SERVICE.ask(hang, seconds=0.05)
    assert calls == [1]


async def test_the_services_own_words_go_nowhere() -> None:
    error = HttpResponseError("the secret of the document")
    error.status_code = 400
    with pytest.raises(BadRequest) as caught:
        await SERVICE.ask(Answers(error), seconds=30)
    told: SwitchboardError = caught.value
    assert "secret" not in f"{told} {told.__cause__}"
    assert told.__suppress_context__
