"""The contract of document stores, with the configured account, in containers that are removed again."""

import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from io import BytesIO
from uuid import uuid4

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient

from shared.documents.blob_store import BlobStore
from shared.outbound.azure_service.signing_in import app_identity
from shared.settings import Settings
from tests.documents.store_contract import StoreContract, Uploading
from tests.live.services import own_name

pytestmark = pytest.mark.live


class TestLiveBlobDocuments(StoreContract):
    @pytest.fixture
    def container_name(self) -> str:
        return f"{own_name()}-{uuid4().hex[:8]}"

    @pytest.fixture
    async def store(self, container_name: str) -> AsyncGenerator[BlobStore]:
        settings = Settings.read(os.environ)
        store = BlobStore.of(settings.content_storage, container_name, settings.content_storage_blobs)
        yield store
        await store.aclose()

    @pytest.fixture(autouse=True)
    async def container(self, container_name: str) -> AsyncGenerator[ContainerClient]:
        settings = Settings.read(os.environ)
        identity = app_identity() if settings.content_storage_blobs else None
        if settings.content_storage_blobs:
            client = ContainerClient(settings.content_storage_blobs, container_name, credential=identity)
        else:
            client = ContainerClient.from_connection_string(_connection_string(settings), container_name)
        async with client:
            yield client
            with suppress(ResourceNotFoundError):
                await client.delete_container()
        if identity:
            await identity.close()

    @pytest.fixture
    def upload(self, container: ContainerClient) -> Uploading:
        async def upload(name: str, data: bytes) -> None:
            await container.upload_blob(name, BytesIO(data), overwrite=True)

        return upload


def _connection_string(settings: Settings) -> str:
    return settings.content_storage.get_secret_value() if settings.content_storage else ""
