"""The client of the RAI service over TLS: whose certificate it takes, and the token that goes along."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from shared.errors import Unavailable
from shared.guard.rai.client import RaiService
from tests.guard.safety_contract import CONTEXT
from tests.stand_ins.certificates import self_signed
from tests.stand_ins.rai_service import DONE, RaiStandIn

HOUR = 3600


class Credential:
    """A directory that gives numbered tokens, each valid for so many seconds."""

    def __init__(self, valid_for: int = HOUR, *, refuses: bool = False) -> None:
        self.scopes: list[str] = []
        self.closed = False
        self._valid_for = valid_for
        self._refuses = refuses

    async def get_token(
        self, *scopes: str, claims: str | None = None, tenant_id: str | None = None, **_: object
    ) -> AccessToken:
        assert claims is tenant_id is None
        self.scopes += scopes
        if self._refuses:
            raise ClientAuthenticationError("secret words of the directory")
        return AccessToken(f"token-{len(self.scopes)}", int(time.time()) + self._valid_for)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.close()


KEY, CERTIFICATE = self_signed()


@pytest.fixture
async def rai() -> AsyncIterator[RaiStandIn]:
    async with RaiStandIn(credentials=grpc.ssl_server_credentials([(KEY, CERTIFICATE)])) as stand_in:
        yield stand_in


async def say_nothing(service: RaiService) -> None:
    async with service.session(CONTEXT) as session:
        await session.finish()
        assert [event async for event in session.events()] == [DONE]


async def test_each_session_carries_the_token_which_is_asked_for_once(rai: RaiStandIn) -> None:
    credential = Credential()
    service = RaiService(rai.endpoint, "default", 10, credential=credential, root_certificates=CERTIFICATE)
    await asyncio.gather(say_nothing(service), say_nothing(service))
    await say_nothing(service)
    await service.aclose()
    assert [session.metadata["authorization"] for session in rai.sessions] == ["Bearer token-1"] * 3
    assert credential.scopes == ["https://cognitiveservices.azure.com/.default"]
    assert not credential.closed


async def test_a_token_is_renewed_before_it_expires(rai: RaiStandIn) -> None:
    service = RaiService(
        rai.endpoint, "default", 10, credential=Credential(valid_for=60), root_certificates=CERTIFICATE
    )
    await say_nothing(service)
    await say_nothing(service)
    await service.aclose()
    assert [session.metadata["authorization"] for session in rai.sessions] == ["Bearer token-1", "Bearer token-2"]


async def test_without_an_identity_nothing_is_sent_and_the_error_says_what_to_do(rai: RaiStandIn) -> None:
    credential = Credential(refuses=True)
    service = RaiService(rai.endpoint, "default", 10, credential=credential, root_certificates=CERTIFICATE)
    with pytest.raises(Unavailable, match="az login") as raised:
        await say_nothing(service)
    health = await service.check()
    await service.aclose()
    assert "secret" not in raised.value.message
    assert not health.ok
    assert not rai.sessions


async def test_a_certificate_that_nobody_vouches_for_is_not_taken_and_named(rai: RaiStandIn) -> None:
    credential = Credential()
    service = RaiService(rai.endpoint, "default", 0.5, credential=credential, root_certificates=self_signed()[1])
    with pytest.raises(Unavailable, match="a certificate that is not trusted"):
        await say_nothing(service)
    health = await service.check()
    await service.aclose()
    assert "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" in health.detail
    assert not rai.sessions


async def test_a_service_with_tls_that_is_not_there_is_not_said_to_have_a_bad_certificate() -> None:
    service = RaiService("https://127.0.0.1:9", "default", 0.5, credential=Credential())
    with pytest.raises(Unavailable, match="cannot be reached"):
        await say_nothing(service)
    await service.aclose()


@pytest.mark.parametrize(("token", "header"), [("a-token", "Bearer a-token"), ("none", None)])
async def test_a_service_of_ones_own_needs_no_identity(rai: RaiStandIn, token: str, header: str | None) -> None:
    service = RaiService(rai.endpoint, "default", 10, token=token, root_certificates=CERTIFICATE)
    await say_nothing(service)
    await service.aclose()
    assert rai.sessions[0].metadata.get("authorization") == header


SESSION = """
import asyncio, sys
from shared.guard.rai.client import RaiService
from tests.guard.rai.test_tls import Credential, say_nothing
async def main():
    service = RaiService(sys.argv[1], "default", 10, credential=Credential())
    await say_nothing(service)
    await service.aclose()
asyncio.run(main())
"""


async def test_an_authority_of_ones_own_is_named_in_grpcs_variable(rai: RaiStandIn, tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(CERTIFICATE)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SESSION,
        rai.endpoint,
        cwd=Path(__file__).parents[3],
        env={"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(roots)},
        stderr=subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert len(rai.sessions) == 1
