import importlib
from collections.abc import Iterator

import httpx2
import openai
import pytest

from shared.errors import RateLimited, SwitchboardError
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.errors import REASONS, fault_of, translated
from shared.outbound.openai_service.reasons import BY_CODE, BY_STATUS, SENTENCES, Fault, Reason, read_fault

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
MODEL = ServedModel("gpt", "OPENAI_CHAT_MODEL")
CONNECTION = OpenAIConnection(
    kind="openai",
    base_url="https://api.openai.com/v1",
    api_key=None,
    address_setting="OPENAI_BASE_URL",
    key_setting="OPENAI_API_KEY",
    chat_model=MODEL,
)

OF_PARTS_WE_DO_NOT_USE = {
    "APIRemovedInV1",
    "ContentFilterFinishReasonError",
    "InvalidWebhookSignatureError",
    "LengthFinishReasonError",
    "MissingDependencyError",
    "MissingStreamClassError",
    "MutuallyExclusiveAuthError",
    "OAuthError",
    "StreamAlreadyConsumed",
    "SubjectTokenProviderError",
    "WebSocketConnectionClosedError",
    "WebSocketQueueFullError",
    "_AmbiguousModuleClientUsageError",
    "_TransientTokenExchangeError",
}
BY_THEIR_STATUS = {
    "BadRequestError": Reason.NOT_ACCEPTED,
    "AuthenticationError": Reason.CREDENTIALS,
    "PermissionDeniedError": Reason.CREDENTIALS,
    "NotFoundError": Reason.NO_SUCH_MODEL,
    "ConflictError": Reason.BROKEN,
    "UnprocessableEntityError": Reason.NOT_ACCEPTED,
    "RateLimitError": Reason.RATE,
}


def exceptions_of_the_sdk(base: type[Exception] = Exception) -> Iterator[type[Exception]]:
    for kind in base.__subclasses__():
        if kind.__module__.partition(".")[0] == "openai":
            yield kind
        yield from exceptions_of_the_sdk(kind)


def test_every_exception_class_of_the_sdk_is_known_here() -> None:
    for module in ("_exceptions", "_response", "_legacy_response", "auth", "lib.azure", "resources"):
        importlib.import_module(f"openai.{module}")
    of_status = {*BY_THEIR_STATUS, "APIStatusError", "APIError", "InternalServerError"}
    known = {kind.__name__ for kind in REASONS} | of_status | OF_PARTS_WE_DO_NOT_USE
    assert {kind.__name__ for kind in exceptions_of_the_sdk()} <= known


@pytest.mark.parametrize(("name", "reason"), [*BY_THEIR_STATUS.items(), ("InternalServerError", Reason.BROKEN)])
def test_a_status_class_has_the_reason_of_its_status(name: str, reason: Reason) -> None:
    kind: type[openai.APIStatusError] = getattr(openai, name)
    response = httpx2.Response(getattr(kind, "status_code", 500), request=REQUEST)
    assert fault_of(kind("x", response=response, body=None)).reason is reason


@pytest.mark.parametrize(
    ("exc", "reason"),
    [
        (openai.APIConnectionError(request=REQUEST), Reason.UNREACHABLE),
        (openai.APITimeoutError(request=REQUEST), Reason.TOO_SLOW),
        (openai.APIError("x", REQUEST, body=None), Reason.BROKEN),
        (openai.OpenAIError("x"), Reason.BROKEN),
        (httpx2.ReadTimeout("x"), Reason.TOO_SLOW),
        (httpx2.ConnectTimeout("x"), Reason.UNREACHABLE),
        (httpx2.ReadError("x"), Reason.CUT_OFF),
        (httpx2.RemoteProtocolError("x"), Reason.CUT_OFF),
        (httpx2.StreamClosed(), Reason.CUT_OFF),
        (TimeoutError(), Reason.TOO_SLOW),
    ],
)
def test_each_exception_has_the_reason_of_its_nearest_class(exc: Exception, reason: Reason) -> None:
    assert fault_of(exc).reason is reason
    with pytest.raises(SENTENCES[reason][0]), translated(CONNECTION, MODEL):
        raise exc


def test_a_connection_that_timed_out_tells_so_by_its_cause() -> None:
    exc = openai.APITimeoutError(request=REQUEST)
    exc.__cause__ = httpx2.ConnectTimeout("x")
    assert fault_of(exc).reason is Reason.UNREACHABLE


def test_what_is_not_the_services_passes_through() -> None:
    for exc in (ValueError("a fault of ours"), KeyboardInterrupt(), RateLimited("ours")):
        with pytest.raises(type(exc)) as caught, translated(CONNECTION, MODEL):
            raise exc
        assert caught.value is exc


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    error = Fault(reason, param="seed", retry_after=2.1).to_error(CONNECTION, MODEL)
    assert isinstance(error, SwitchboardError)
    assert error.message.endswith(".")
    assert "{" not in error.message
    assert "None" not in error.message


def test_the_tables_name_only_reasons_with_a_sentence() -> None:
    assert {*BY_CODE.values(), *BY_STATUS.values(), *REASONS.values()} <= set(SENTENCES) == set(Reason)


@pytest.mark.parametrize(("seconds", "told"), [(None, 10), (0, 1), (0.2, 1), (1, 1), (1.01, 2), (59.5, 60)])
def test_the_wait_is_told_in_whole_seconds_of_at_least_one(seconds: float | None, told: int) -> None:
    error = Fault(Reason.RATE, retry_after=seconds).to_error(CONNECTION, MODEL)
    assert isinstance(error, RateLimited)
    assert error.retry_after == told


def test_codes_that_are_somebodys_text_are_not_kept() -> None:
    fault = read_fault({"code": "my secret question", "type": "x y"}, status=400, request_id="a b")
    assert (fault.code, fault.request_id) == (None, None)
