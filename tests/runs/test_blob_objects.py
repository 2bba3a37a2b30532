"""Objects in a container of Azurite, and batches in its queue."""

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
from azure.storage.queue.aio import QueueClient

from shared.errors import NotConfigured, Unavailable
from shared.runs import NEW
from shared.runs.blob_objects import BlobObjects
from shared.runs.in_process import InProcess
from shared.runs.queue_engine import QueueEngine
from shared.settings import Settings
from tests.runs.store_contract import ObjectStoreContract
from tests.stand_ins.azurite import Azurite

BATCH = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def settings(azurite: Azurite) -> Settings:
    return Settings.read({"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"})


@pytest.fixture
async def store(settings: Settings) -> AsyncGenerator[BlobObjects]:
    store = BlobObjects.from_settings(settings)
    yield store
    await store.aclose()


class TestBlobObjects(ObjectStoreContract):
    pass


async def nowhere(run_id: str) -> None:
    """Run no run."""
    raise AssertionError(run_id)


async def test_a_message_holds_the_id_of_a_batch_and_nothing_else(azurite: Azurite, settings: Settings) -> None:
    engine = QueueEngine.from_settings(settings, InProcess(nowhere, workers=0))
    await engine.start(BATCH)  # it makes the queue
    await engine.aclose()
    async with QueueClient.from_connection_string(azurite.connection_string, settings.batch_queue) as queue:
        assert [message.content for message in await queue.peek_messages(32)] == [BATCH]


async def test_a_wrong_connection_string_is_told_by_its_name() -> None:
    settings = Settings.read({"AzureWebJobsStorage": "AccountName=a;nonsense"})
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        BlobObjects.from_settings(settings)
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        QueueEngine.from_settings(settings, InProcess(nowhere))


async def test_an_account_that_is_not_there_is_unavailable() -> None:
    address = "http://127.0.0.1:1/account"
    account = f"AccountName=account;AccountKey=a2V5;BlobEndpoint={address};QueueEndpoint={address}"
    settings = Settings.read({"AzureWebJobsStorage": account})
    store, engine = BlobObjects.from_settings(settings), QueueEngine.from_settings(settings, InProcess(nowhere))
    with pytest.raises(Unavailable, match="AzureWebJobsStorage"):
        await store.write("a/state", b"", NEW)
    with pytest.raises(Unavailable, match="AzureWebJobsStorage"):
        await engine.start(BATCH)
    await store.aclose()
    await engine.aclose()
