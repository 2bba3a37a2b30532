"""Objects in a container of Azurite, and batches in its queue."""

import asyncio
from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
from azure.storage.queue.aio import QueueClient

from shared.errors import NotConfigured, Unavailable
from shared.runs import NEW
from shared.runs.blob_objects import BlobObjects
from shared.runs.in_process import SHARE, InProcess
from shared.runs.queue_engine import QueueEngine
from shared.runs.records import State
from shared.settings import Settings
from tests.runs.store_contract import ObjectStoreContract
from tests.stand_ins.azurite import Azurite

BATCH = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def settings(azurite: Azurite) -> Settings:
    return Settings.read({"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"})


@pytest.fixture
async def store(settings: Settings) -> AsyncGenerator[BlobObjects]:
    store = BlobObjects(settings)
    yield store
    await store.aclose()


class TestBlobObjects(ObjectStoreContract):
    pass


async def hanging(run_id: str) -> None:
    """Run a run whose model says nothing."""
    await asyncio.Event().wait()
    raise AssertionError(run_id)


async def test_a_run_whose_caller_has_no_room_here_waits_in_the_queue_by_its_id_alone(
    azurite: Azurite, settings: Settings
) -> None:
    here = InProcess(hanging)
    engine, turn = QueueEngine(settings, here), State("alice", 1, 1)
    for number in range(SHARE):
        await engine.start(f"{number}", turn)
    await engine.start(BATCH, turn)  # it makes the queue
    async with QueueClient.from_connection_string(azurite.connection_string, settings.batch_queue) as queue:
        (message,) = [one async for one in queue.receive_messages()]
        assert message.content == BATCH
        await queue.delete_message(message)
        await engine.take(BATCH, turn)  # its message comes again, here or elsewhere
        await engine.take(BATCH, turn)  # another one of it is not multiplied
        assert not here.has(BATCH)
        assert (await queue.get_queue_properties()).approximate_message_count == 1
    await engine.aclose()


async def test_runs_that_hang_leave_a_place_of_the_trigger_to_other_callers(settings: Settings) -> None:
    engine, turn = QueueEngine(settings, InProcess(hanging)), State("alice", 1, 1)
    held = [asyncio.create_task(engine.take(f"{number}", turn)) for number in range(SHARE)]
    ended, hold = await asyncio.wait(held, timeout=1, return_when=asyncio.ALL_COMPLETED)
    assert (len(ended), len(hold)) == (SHARE - 2, 2)
    for one in hold:
        one.cancel()
    await engine.aclose()


async def test_a_wrong_connection_string_is_told_by_its_name() -> None:
    settings = Settings.read({"AzureWebJobsStorage": "AccountName=a;nonsense"})
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        BlobObjects(settings)
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        QueueEngine(settings, InProcess(hanging))


async def test_an_account_that_is_not_there_is_unavailable() -> None:
    address = "http://127.0.0.1:1/account"
    account = f"AccountName=account;AccountKey=a2V5;BlobEndpoint={address};QueueEndpoint={address}"
    settings = Settings.read({"AzureWebJobsStorage": account})
    store, engine = BlobObjects(settings), QueueEngine(settings, InProcess(hanging))
    with pytest.raises(Unavailable, match="AzureWebJobsStorage"):
        await store.write("a/state", b"", NEW)
    for number in range(SHARE):
        await engine.start(f"{number}", State("alice", 1, 1))
    with pytest.raises(Unavailable, match="AzureWebJobsStorage"):
        await engine.start(BATCH, State("alice", 1, 1))
    await store.aclose()
    await engine.aclose()
