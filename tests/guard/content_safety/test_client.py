"""How the app signs in to Azure AI Content Safety with its identity."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.errors import Unavailable
from shared.guard.content_safety.client import TextAnalyser
from tests.stand_ins.certificates import server_side
from tests.stand_ins.content_safety import ContentSafetyStandIn
from tests.stand_ins.identity_endpoint import identity_endpoint


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS for localhost, and the certificate that a client has to trust."""
    return server_side(tmp_path)


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
        analyser = TextAnalyser(service.endpoint, None, connection_verify=str(trusted))
        deadline = asyncio.get_running_loop().time() + 30
        for text in ("Hello", "a knife"):
            found = await analyser.severities(text, deadline=deadline, invocation_id="i")
        assert found == {"HATE": 0, "SELF_HARM": 0, "SEXUAL": 0, "VIOLENCE": 7}
        await analyser.check_access(seconds=60)
        await analyser.aclose()
    assert scopes == ["https://cognitiveservices.azure.com"]


async def test_no_identity_is_an_unavailable_service(
    tls: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    context, trusted = tls
    async with ContentSafetyStandIn(context) as service:
        analyser = TextAnalyser(service.endpoint, None, connection_verify=str(trusted))
        with pytest.raises(Unavailable, match="role"):
            await analyser.severities("Hello", deadline=asyncio.get_running_loop().time() + 30, invocation_id="i")
        await analyser.aclose()


async def test_a_certificate_that_nobody_vouches_for_is_an_unavailable_service(
    tls: tuple[ssl.SSLContext, Path], scopes: list[str]
) -> None:
    async with ContentSafetyStandIn(tls[0]) as service:
        analyser = TextAnalyser(service.endpoint, None)
        with pytest.raises(Unavailable, match="CONTENT_SAFETY_ENDPOINT"):
            await analyser.check_access(seconds=60)
        await analyser.aclose()
    assert len(scopes) <= 1
    assert not service.texts
