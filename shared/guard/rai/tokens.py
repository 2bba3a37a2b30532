"""Tokens of the app's own identity for the RAI service. Imports `azure.identity`: import it late."""

import asyncio

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.identity.aio import get_bearer_token_provider

from shared.errors import Unavailable
from shared.outbound.azure_service.signing_in import AI_SERVICES, app_identity


class RaiTokens:
    """Gives tokens of the managed identity, or of who is signed in on a laptop; renews them before they expire.

    Args:
        credential: Another identity; its owner closes it.
    """

    def __init__(self, credential: AsyncTokenCredential | None = None) -> None:
        self._credential = credential or app_identity()
        self._is_given = credential is not None
        self._provider = get_bearer_token_provider(self._credential, AI_SERVICES)

    async def token(self, patience: float) -> str:
        """A token that is valid now, within so many seconds.

        Raises:
            Unavailable: there is no identity, or its directory does not answer in time.
        """
        try:
            async with asyncio.timeout(patience):
                return await self._provider()
        except (AzureError, TimeoutError) as exc:
            raise Unavailable(
                "The app cannot sign in to the safety service: give it a managed identity, or sign in with `az login` "
                "locally."
            ) from exc

    async def aclose(self) -> None:
        """Close the identity's connections, unless it was given."""
        if not self._is_given:
            await self._credential.close()
