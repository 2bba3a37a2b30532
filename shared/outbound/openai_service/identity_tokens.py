"""Tokens of the app's own identity, for Azure OpenAI without a key. Imports `azure.identity`: import it late."""

from azure.core.exceptions import AzureError
from azure.identity.aio import get_bearer_token_provider

from shared.errors import Unavailable
from shared.outbound.azure_service.signing_in import AI_SERVICES, app_identity


class IdentityTokens:
    """Gives tokens of the managed identity, or of who is signed in on a laptop; renews them before they expire."""

    def __init__(self) -> None:
        self._credential = app_identity()
        self._provider = get_bearer_token_provider(self._credential, AI_SERVICES)

    async def token(self) -> str:
        """A token that is valid now.

        Raises:
            Unavailable: there is no identity, or its directory does not answer.
        """
        try:
            return await self._provider()
        except AzureError as exc:
            raise Unavailable(
                "The app cannot sign in to Azure OpenAI: give it a managed identity, sign in with `az login` locally, "
                "or set AZURE_OPENAI_API_KEY."
            ) from exc

    async def aclose(self) -> None:
        """Close the credential's connections."""
        await self._credential.close()
