from collections.abc import Iterator

import aiohttp
import pytest

from shared import errors
from shared.errors import RateLimited, SwitchboardError
from shared.outbound.faults import DEFAULTS, Fault, Reason
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.outbound.openai_service.errors import SDK, fault_of, service_errors
from shared.outbound.openai_service.reasons import error_of, read_fault

MODEL = ServedModel("gpt", "OPENAI_CHAT_MODEL")
CONNECTION = OpenAIConnection(
    kind="openai",
    base_url="https://api.openai.com/v1",
    api_key=None,
    address_setting="OPENAI_BASE_URL",
    key_setting="OPENAI_API_KEY",
    chat_model=MODEL,
)

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


@pytest.mark.parametrize(
    ("exc", "reason"),
    [
        (aiohttp.ClientConnectionError(), Reason.UNREACHABLE),
        (aiohttp.ConnectionTimeoutError(), Reason.UNREACHABLE),
        (aiohttp.ClientPayloadError(), Reason.CUT_OFF),
        (TimeoutError(), Reason.TOO_SLOW),
    ],
)
def test_each_exception_has_the_reason_of_its_nearest_class(exc: Exception, reason: Reason) -> None:
    assert fault_of(exc).reason is reason
    with pytest.raises(getattr(errors, DEFAULTS.kinds.get(reason, "Unavailable"))), service_errors(CONNECTION, MODEL):
        raise exc


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
