"""What each fault of the SDK means, and how the app signs in to the service with its identity."""

import asyncio
import importlib
import ssl
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from azure.core.exceptions import AzureError, HttpResponseError

from shared.errors import Unavailable
from shared.guard.content_safety_client import BY_CLASS, BY_STATUS, SENTENCES, Reason, TextAnalyser, reason_of
from tests.stand_ins.certificates import self_signed
from tests.stand_ins.content_safety import ContentSafetyStandIn
from tests.stand_ins.identity_endpoint import identity_endpoint

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


def test_every_exception_class_of_the_sdk_is_known_here() -> None:
    for module in ("azure.ai.contentsafety.aio", "azure.identity.aio", "azure.core.exceptions"):
        importlib.import_module(module)
    known = {kind.__name__ for kind in BY_CLASS} | OF_A_STATUS | OF_PARTS_WE_DO_NOT_USE | {*OF_THE_SAME_REASON}
    assert {kind.__name__ for kind in subclasses(AzureError)} - known == set()
    for kind in subclasses(AzureError):
        if parent := OF_THE_SAME_REASON.get(kind.__name__):
            assert parent in {base.__name__ for base in kind.__mro__}


@pytest.mark.parametrize(("status", "reason"), [*BY_STATUS.items(), (302, Reason.NOT_AN_ANSWER), (599, Reason.BROKEN)])
def test_a_status_counts_before_the_class(status: int, reason: Reason) -> None:
    for kind in (HttpResponseError, *subclasses(HttpResponseError)):
        try:
            error = kind("x")
        except (AttributeError, TypeError):
            continue  # made of an answer alone
        assert isinstance(error, HttpResponseError)
        error.status_code = status
        assert reason_of(error) is reason


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_an_error_and_a_whole_sentence(reason: Reason) -> None:
    _, sentence = SENTENCES[reason]
    assert sentence.endswith(".")


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS for localhost, and the certificate that a client has to trust."""
    key, certificate = self_signed()
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(certificate)
    secret = tmp_path / "key.pem"
    secret.write_bytes(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, secret)
    return context, trusted


@pytest.fixture
async def scopes(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[list[str]]:
    """What an identity endpoint is asked for."""
    async with identity_endpoint(ContentSafetyStandIn.token) as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield asked


async def test_without_a_key_the_apps_identity_signs_in_once(
    tls: tuple[ssl.SSLContext, Path], scopes: list[str]
) -> None:
    context, trusted = tls
    async with ContentSafetyStandIn(context) as service:
        service.finds("knife", "Violence", 7)
        analyser = TextAnalyser.at(service.endpoint, None, connection_verify=str(trusted))
        deadline = asyncio.get_running_loop().time() + 30
        for text in ("Hello", "a knife"):
            found = await analyser.severities(text, deadline=deadline, invocation_id="i")
        assert found == {"HATE": 0, "SELF_HARM": 0, "SEXUAL": 0, "VIOLENCE": 7}
        await analyser.knows_us(seconds=10)
        await analyser.aclose()
    assert scopes == ["https://cognitiveservices.azure.com"]


async def test_no_identity_is_an_unavailable_service(
    tls: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    context, trusted = tls
    async with ContentSafetyStandIn(context) as service:
        analyser = TextAnalyser.at(service.endpoint, None, connection_verify=str(trusted))
        with pytest.raises(Unavailable, match="role"):
            await analyser.severities("Hello", deadline=asyncio.get_running_loop().time() + 30, invocation_id="i")
        await analyser.aclose()


async def test_a_certificate_that_nobody_vouches_for_is_an_unavailable_service(
    tls: tuple[ssl.SSLContext, Path], scopes: list[str]
) -> None:
    async with ContentSafetyStandIn(tls[0]) as service:
        analyser = TextAnalyser.at(service.endpoint, None)
        with pytest.raises(Unavailable, match="CONTENT_SAFETY_ENDPOINT"):
            await analyser.knows_us(seconds=10)
        await analyser.aclose()
    assert len(scopes) <= 1
    assert not service.texts
