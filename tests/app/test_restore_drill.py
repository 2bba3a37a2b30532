"""The restore drill of docs/production.md: each store is lost, the app goes on, and what can be restored is."""

import asyncio
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from azure.data.tables.aio import TableClient
from azure.storage.blob.aio import ContainerClient

from shared.history.azure_table import TABLE
from tests.app.conftest import hosted
from tests.app.test_answers import body
from tests.app.test_history import Chats
from tests.local.running_host import RunningHost
from tests.local.test_index_command import run
from tests.stand_ins.azurite import Azurite

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.nightly]

PLAN = b"# Teeth\n\nThe Standard plan pays 80 % of dental care."
QUESTION = "What does the Standard plan pay for dental care?"
CONTENT = "/content/plan.md"


async def sources(host: RunningHost, http: aiohttp.ClientSession) -> list[str]:
    async with http.post(f"{host.url}/ai-chat/chat", json=body(QUESTION)) as response:
        assert response.status == 200
        answer: dict[str, Any] = await response.json()
    return answer["context"]["data_points"]["citations"]


async def status(host: RunningHost, http: aiohttp.ClientSession, path: str) -> int:
    async with http.get(host.url + path) as response:
        return response.status


def remove_index(folder: Path) -> None:
    for file in folder.glob("index.sqlite*"):
        file.unlink()


async def test_a_copy_of_the_folder_brings_everything_back(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    data, copy, none = tmp_path / "data", tmp_path / "copy", {"OPENAI_EMBEDDING_MODEL": ""}
    async with hosted(data, none) as host:
        async with http.put(f"{host.url}/documents/plan.md", data=PLAN) as response:
            assert response.status == 200
        chat = await Chats(host, http).start(title="Kept")
    shutil.copytree(data, copy)  # while the app is stopped
    shutil.rmtree(data)
    async with hosted(data, none) as host:
        assert await sources(host, http) == []
        assert await Chats(host, http).send("GET") == (200, [])
    shutil.rmtree(data)
    shutil.copytree(copy, data)
    async with hosted(data, none) as host:
        assert await sources(host, http) == ["plan.md"]
        assert [one["id"] for one in (await Chats(host, http).send("GET"))[1]] == [chat]
        assert await status(host, http, CONTENT) == 200


async def test_a_lost_index_is_made_again_from_the_documents_and_a_lost_history_is_empty(
    tmp_path: Path, http: aiohttp.ClientSession
) -> None:
    async with Azurite() as azurite:
        container = f"content-{uuid4().hex}"
        connection = azurite.connection_string
        settings = {
            "CONTENT_STORAGE": connection,
            "CONTENT_CONTAINER": container,
            "AzureWebJobsStorage": connection,
            "HISTORY_BACKEND": "azure-table",
        }

        def sync() -> int:
            return run(tmp_path, "--sync", **settings).returncode

        table: Any = TableClient.from_connection_string(connection, TABLE)  # its types are incomplete
        async with ContainerClient.from_connection_string(connection, container) as blobs, table:
            await blobs.create_container()
            await table.create_table()
            await blobs.upload_blob("plan.md", PLAN)
            assert await asyncio.to_thread(sync) == 0
            async with hosted(tmp_path, settings) as host:
                chats = Chats(host, http)
                await chats.start()
                assert await sources(host, http) == ["plan.md"]
                await table.delete_table()
                assert await sources(host, http) == ["plan.md"]  # an answer needs no history
                await table.create_table()
                assert await chats.send("GET") == (200, [])
            remove_index(tmp_path)
            async with hosted(tmp_path, settings) as host:
                assert await sources(host, http) == []
                assert await status(host, http, CONTENT) == 200
            assert await asyncio.to_thread(sync) == 0
            async with hosted(tmp_path, settings) as host:
                assert await sources(host, http) == ["plan.md"]
                await blobs.delete_blob("plan.md")
                assert await status(host, http, CONTENT) == 404
                await blobs.upload_blob("plan.md", PLAN)  # as `az storage blob undelete` does
                assert await status(host, http, CONTENT) == 200
