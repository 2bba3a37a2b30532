"""Signing the app in to services of Azure: with a key, or with its identity. Imports `azure.core`: import it late."""

import asyncio
import os
import time

from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from pydantic import SecretStr

from shared.outbound.azure_service.managed_identity import RENEWED_BEFORE_SECONDS, ManagedIdentity
from shared.outbound.faults import Fault, Reason, ServiceFault

AI_SERVICES = "https://cognitiveservices.azure.com/.default"
"""The scope of tokens for Azure's AI services, Azure OpenAI among them."""

type Credential = AzureKeyCredential | AsyncTokenCredential


def app_identity() -> AsyncTokenCredential:
    """The managed identity, or on a laptop the person who is signed in; to be closed."""
    if managed := ManagedIdentity.from_environment(os.environ):
        return managed
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()


def credential_of(key: SecretStr | None) -> Credential:
    """A service's key; without one the app's identity, to be closed by `close`."""
    return AzureKeyCredential(key.get_secret_value()) if key else app_identity()


async def close(credential: object) -> None:
    """Close the connections that tokens come by; a key has none."""
    if isinstance(credential, AsyncTokenCredential):
        await credential.close()


class IdentityTokens:
    """Tokens of the app's identity for one kind of service, renewed before they expire.

    Args:
        credential: Another identity, which its owner closes; None: the app's.
        scope: What they are for.
    """

    def __init__(self, credential: AsyncTokenCredential | None = None, scope: str = AI_SERVICES) -> None:
        self._credential = credential or app_identity()
        self._scope = scope
        self._is_ours = credential is None
        self._token: AccessToken | None = None
        self._asking = asyncio.Lock()

    async def token(self, seconds: float | None = None) -> str:
        """A token that is valid now.

        Args:
            seconds: How long to wait for it; None: as long as the identity's own limits allow.

        Raises:
            ServiceFault: there is no identity, or its directory does not answer in time.
        """
        try:
            async with asyncio.timeout(seconds), self._asking:
                if self._token is None or self._token.expires_on - time.time() < RENEWED_BEFORE_SECONDS:
                    self._token = await self._credential.get_token(self._scope)
                return self._token.token
        except (AzureError, TimeoutError):
            raise ServiceFault(Fault(Reason.NO_IDENTITY)) from None

    async def aclose(self) -> None:
        """Close the identity's connections, unless it was given."""
        if self._is_ours:
            await self._credential.close()
