import importlib
from collections.abc import Iterator

import aiohttp
import httpx2
import openai
import pytest

from shared.errors import RateLimited, SwitchboardError
from shared.outbound.faults import DEFAULTS, Fault, Reason
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.errors import BY_CLASS, SDK, fault_of, service_errors
from shared.outbound.openai_service.reasons import error_of, read_fault

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
    "NotFoundError": Reason.NOT_THERE,
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
    known = {kind.__name__ for kind in BY_CLASS} | of_status | OF_PARTS_WE_DO_NOT_USE
    assert {kind.__name__ for kind in exceptions_of_the_sdk()} <= known


AIOHTTP = {
    Reason.NOT_AN_ANSWER: {
        "ClientResponseError",
        "ContentTypeError",
        "WSServerHandshakeError",
        "ClientHttpProxyError",
        "TooManyRedirects",
        "InvalidURL",
        "InvalidUrlClientError",
        "InvalidUrlRedirectClientError",
    },
    Reason.UNREACHABLE: {
        "ClientConnectionError",
        "ClientConnectionResetError",
        "ClientOSError",
        "ClientConnectorError",
        "ClientConnectorDNSError",
        "ClientProxyConnectionError",
        "UnixClientConnectorError",
        "ClientSSLError",
        "ClientConnectorSSLError",
        "ClientConnectorCertificateError",
        "ServerConnectionError",
        "ServerDisconnectedError",
        "ServerFingerprintMismatch",
        "ConnectionTimeoutError",
    },
    Reason.TOO_SLOW: {"ServerTimeoutError", "SocketTimeoutError"},
    Reason.CUT_OFF: {
        "ClientError",
        "ClientPayloadError",
        "UploadAbortedError",
        "RedirectClientError",
        "NonHttpUrlClientError",
        "NonHttpUrlRedirectClientError",
    },
}
"""What the transport is made of; its own exceptions come through where it does not translate them."""


def exceptions_of_aiohttp(kind: type[Exception] = aiohttp.ClientError) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from exceptions_of_aiohttp(each)


def test_every_exception_class_of_the_transport_has_its_reason() -> None:
    found: dict[Reason, set[str]] = {}
    for kind in exceptions_of_aiohttp():
        if kind.__module__.partition(".")[0] == "aiohttp":
            exc = kind.__new__(kind)  # each is made of other parts, and only its class counts
            found.setdefault(fault_of(exc).reason, set()).add(kind.__name__)
            assert isinstance(exc, SDK.raises)
    assert found == AIOHTTP


OF_CALLS_THAT_WE_DO_NOT_MAKE = {"CookieConflict", "InvalidURL"}


def test_every_exception_class_of_the_http_client_is_a_fault_of_the_service() -> None:
    kinds = [kind for kind in vars(httpx2).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert {kind.__name__ for kind in kinds if not issubclass(kind, SDK.raises)} == OF_CALLS_THAT_WE_DO_NOT_MAKE
    for kind in kinds:
        if issubclass(kind, SDK.raises):
            assert fault_of(kind.__new__(kind)).reason in Reason


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
    with pytest.raises(DEFAULTS[reason][0]), service_errors(CONNECTION, MODEL):
        raise exc


def test_a_connection_that_timed_out_tells_so_by_its_cause() -> None:
    exc = openai.APITimeoutError(request=REQUEST)
    exc.__cause__ = httpx2.ConnectTimeout("x")
    assert fault_of(exc).reason is Reason.UNREACHABLE


def test_what_is_not_the_services_passes_through() -> None:
    for exc in (ValueError("a fault of ours"), KeyboardInterrupt(), RateLimited("ours")):
        with pytest.raises(type(exc)) as caught, service_errors(CONNECTION, MODEL):
            raise exc
        assert caught.value is exc


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    error = error_of(Fault(reason, param="seed", retry_after=2.1), CONNECTION, MODEL)
    assert isinstance(error, SwitchboardError)
    assert error.message.endswith(".")
    assert "{" not in error.message
    assert "None" not in error.message


def test_codes_that_are_somebodys_text_are_not_kept() -> None:
    fault = read_fault({"code": "my secret question", "type": "x y"}, status=400, request_id="a b")
    assert (fault.code, fault.request_id) == (None, None)
