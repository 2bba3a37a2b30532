"""An index of its own in the configured Azure AI Search, which is removed again."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ResourceNotFoundError
from azure.search.documents.indexes.aio import SearchIndexClient

from shared.outbound.azure_service.signing_in import app_identity
from shared.settings import Settings
from tests.live.services import own_name

SETTLING_SECONDS = 3.0
"""Until searches show what was written."""


@asynccontextmanager
async def index_of_its_own() -> AsyncGenerator[Settings]:
    """Settings with the name of an index that is not there yet; whatever is then written goes at the end."""
    own = {"AZURE_SEARCH_INDEX": f"{own_name()}-{uuid4().hex[:8]}", "AZURE_SEARCH_FIELDS": "", "EMBEDDINGS": ""}
    settings = Settings.read({**os.environ, **own})
    try:
        yield settings
    finally:
        await _remove(settings)


async def settle() -> None:
    """Wait until searches show what was written; the service has no way to ask."""
    await asyncio.sleep(SETTLING_SECONDS)


async def _remove(settings: Settings) -> None:
    key = settings.azure_search_api_key
    identity = None if key else app_identity()
    credential = identity or AzureKeyCredential(key.get_secret_value() if key else "")
    try:
        async with SearchIndexClient(settings.azure_search_endpoint or "", credential) as client:
            with suppress(ResourceNotFoundError):
                await client.delete_index(settings.azure_search_index or "")
    finally:
        if identity:
            await identity.close()
