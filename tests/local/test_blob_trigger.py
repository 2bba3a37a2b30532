"""Blob triggers on the local host, with a container of Azurite."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from tests.local.running_host import host_beside
from tests.local.small_apps import write_app
from tests.stand_ins.azurite import Azurite

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """
@app.blob_trigger(arg_name="blob", path=os.environ["CONTAINER"] + "/{name}", connection="STORE")
async def work(blob: func.InputStream) -> None:
    data = blob.read()
    print(f"got {blob.name} of {blob.length} bytes: {data!r}, {blob.metadata}", flush=True)
    if data == b"bad":
        raise RuntimeError("it is bad")


@app.blob_trigger(arg_name="blob", path="elsewhere/{folder}/{name}.pdf", connection="STORE")
async def other(blob: func.InputStream) -> None: ...
"""


@pytest_asyncio.fixture(loop_scope="module")
async def container(azurite: Azurite) -> AsyncGenerator[ContainerClient]:
    """A container of the test's own, which is not made yet."""
    name = f"c{uuid4().hex}"
    async with ContainerClient.from_connection_string(azurite.connection_string, name) as client:
        yield client


async def test_new_and_changed_blobs_are_invocations_and_those_that_keep_failing_are_given_up(
    tmp_path: Path, azurite: Azurite, container: ContainerClient
) -> None:
    app = write_app(tmp_path, APP, host={"extensions": {"blobs": {"poisonBlobThreshold": 2}}})
    env = {"STORE": azurite.connection_string, "CONTAINER": container.container_name}
    async with host_beside(app, env) as host:

        async def logged(pattern: str) -> None:
            await asyncio.to_thread(host.wait_for, pattern)

        assert f"work   blobTrigger, container {container.container_name}" in host.log()
        assert "other  blobTrigger, not hosted locally" in host.log()
        await container.create_container()  # the host waits for a container that is not there
        await container.upload_blob("a/ä.txt", b"one", metadata={"groups": "g"})
        await logged(f"got {container.container_name}/a/ä.txt of 3 bytes: b'one', {{'groups': 'g'}}")
        await logged(r"work succeeded \d+ ms")
        await container.upload_blob("bad.txt", b"bad")
        await logged("a blob was tried 2 times; queue webjobs-blobtrigger-poison names it")
        await container.upload_blob("a/ä.txt", b"two", overwrite=True)
        await logged("b'two'")
        await container.upload_blob("bad.txt", b"good", overwrite=True)
        await logged("b'good'[^$]*work succeeded")

    assert [host.log().count(f"bytes: b'{data}'") for data in ("one", "two", "bad", "good")] == [1, 1, 2, 1]
    async with QueueClient.from_connection_string(azurite.connection_string, "webjobs-blobtrigger-poison") as queue:
        given_up = [json.loads(each.content) for each in await queue.peek_messages(32)]
    (message,) = [each for each in given_up if each["ContainerName"] == container.container_name]
    assert (message["FunctionId"], message["BlobName"]) == ("Host.Functions.work", "bad.txt")
