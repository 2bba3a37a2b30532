"""What signs the app in to a service of Azure. Imports `azure.core`: import it late."""

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from pydantic import SecretStr

type Credential = AzureKeyCredential | AsyncTokenCredential


def credential_of(key: SecretStr | None) -> Credential:
    """A service's key; without one the app's identity, to be closed by `close`."""
    if key:
        return AzureKeyCredential(key.get_secret_value())
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()


async def close(credential: Credential) -> None:
    """Close the connections that tokens come by; a key has none."""
    if isinstance(credential, AsyncTokenCredential):
        await credential.close()
