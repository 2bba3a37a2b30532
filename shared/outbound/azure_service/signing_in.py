"""What signs the app in to a service of Azure. Imports `azure.core`: import it late."""

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from pydantic import SecretStr

AI_SERVICES = "https://cognitiveservices.azure.com/.default"
"""The scope of tokens for Azure's AI services, Azure OpenAI among them."""

type Credential = AzureKeyCredential | AsyncTokenCredential


def app_identity() -> AsyncTokenCredential:
    """The managed identity, or who is signed in on a laptop; to be closed."""
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()


def credential_of(key: SecretStr | None) -> Credential:
    """A service's key; without one the app's identity, to be closed by `close`."""
    return AzureKeyCredential(key.get_secret_value()) if key else app_identity()


async def close(credential: Credential) -> None:
    """Close the connections that tokens come by; a key has none."""
    if isinstance(credential, AsyncTokenCredential):
        await credential.close()
