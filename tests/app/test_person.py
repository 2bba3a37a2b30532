"""What is kept of one person is exported and deleted by one command: nothing of it is left, and others keep theirs."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import aiohttp
import pytest
import pytest_asyncio
from azure.data.tables.aio import TableClient

from shared.history.azure_table import TABLE
from tests.app.batches import LATER, Place, place_of, polled
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import Key, taking
from tests.local.running_host import HOSTS, REPOSITORY, RunningHost
from tests.stand_ins.azurite import Azurite

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

ADA, BOB = Key("ada"), Key("bob")


@dataclass(frozen=True, slots=True)
class Kept:
    """The app, and where it keeps things."""

    host: RunningHost
    place: Place
    env: dict[str, str]
    azurite: Azurite

    async def contents(self) -> AsyncIterator[bytes]:
        """Everything that is kept: files, and of Azure's services the table and the blobs."""
        for path in await asyncio.to_thread(lambda: [*self.place.data_dir.rglob("*")]):
            yield path.name.encode()
            if path.is_file():
                yield await asyncio.to_thread(path.read_bytes)
        async for name in self.place.store.names():
            found = await self.place.store.read(name)
            yield found.data if found else b""
        if not self.place.settings:
            return
        async with TableClient.from_connection_string(self.azurite.connection_string, TABLE) as table:
            async for entity in table.query_entities("PartitionKey ge ''"):
                for value in entity.values():
                    yield value if isinstance(value, bytes) else str(value).encode()

    async def holds(self, word: str) -> bool:
        """Whether a word is anywhere."""
        return any([word.encode() in data.lower() async for data in self.contents()])

    async def command(self, *arguments: object) -> tuple[int, str]:
        """Run the command with the settings of the app."""
        command = ("local.person_command", *map(str, arguments))
        env = self.env | {"PATH": ""}
        done = await asyncio.to_thread(HOSTS.run, *command, env=env, folder=REPOSITORY, seconds=120)
        return done.returncode, done.stdout + done.stderr


@pytest_asyncio.fixture(params=["folder", "queue"], loop_scope="session")
async def kept(request: pytest.FixtureRequest, tmp_path: Path, azurite: Azurite) -> AsyncGenerator[Kept]:
    async with place_of(request.param, tmp_path, azurite) as place:
        env = taking(ADA, BOB) | NO_VECTORS | dict(place.settings)
        if request.param == "queue":
            env["HISTORY_BACKEND"] = "azure-table"
        async with hosted(place.data_dir, env) as host:
            yield Kept(host, place, env | {"DATA_DIR": str(place.data_dir)}, azurite)


async def leave_traces(kept: Kept, http: aiohttp.ClientSession, key: Key, word: str) -> None:
    """Do everything that the app keeps something of; all texts have the word."""
    url, headers = kept.host.url, key.bearer

    async def send(method: str, path: str, sent: Any = None, **more: Any) -> Any:
        async with http.request(method, url + path, json=sent, headers=headers | more) as response:
            assert response.status < 300, await response.text()
            return (await response.json()) if response.content_type == "application/json" else None

    form = aiohttp.FormData()
    form.add_field("file", io.BytesIO(f"The {word} ships in May.".encode()), filename=f"{word}.txt")
    async with http.post(f"{url}/ai-chat/upload", data=form, headers=headers) as response:
        assert response.status == 200, await response.text()
    async with http.put(f"{url}/documents/mine/{word}.pdf", data=b"broken", headers=headers) as response:
        assert response.status == 422
    chat = (await send("POST", "/chat-history", {"mode": "standard", "title": f"About {word}"}))["id"]
    question = {"role": "user", "content": f"When does the {word} ship?"}
    body = {"messages": [question], "context": {"overrides": {"retrieval_mode": "text"}}, "sessionState": chat}
    await send("POST", "/ai-chat-2024-05-29/chat", body)
    await send("POST", f"/chat-history/{chat}/share")
    answer = await send("POST", "/v1/responses", {"input": question["content"], "model": "switchboard"})
    verdict = {"rating": "down", "comment": f"The {word} is late."}
    await send("POST", "/feedback", {"answer_id": answer["id"], **verdict})
    async with http.post(f"{url}/ai-chat/chat", json=body, headers=headers | LATER) as response:
        assert response.status == 202, await response.text()
        location = response.headers["Location"]
    await polled(http, location, headers)
    line = f"/directline/conversations/{(await send('POST', '/directline/conversations'))['conversationId']}/activities"
    said = {"type": "message", "from": {"id": "person"}, "text": question["content"]}
    await send("POST", line, said)
    async with asyncio.timeout(60):
        while "ships in May" not in str(await send("GET", line)):  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.1)


async def test_a_person_is_exported_whole_and_deleted_without_a_trace_and_others_keep_theirs(
    kept: Kept, http: aiohttp.ClientSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nettle, thistle = f"nettle{uuid4().hex[:8]}", f"thistle{uuid4().hex[:8]}"
    await leave_traces(kept, http, ADA, nettle)
    await leave_traces(kept, http, BOB, thistle)
    assert await kept.holds(nettle)
    out = tmp_path_factory.mktemp("out") / "new" / "ada.zip"
    code, printed = await kept.command("ada", "--out", out)
    assert (code, "1 documents" in printed) == (0, True), printed
    with ZipFile(out) as file:
        person = json.loads(file.read("person.json"))
        assert nettle in file.read(f"documents/mine/{nettle}.txt").decode()
    for kind in ("chats", "answers", "runs", "documents", "failed_documents"):
        assert nettle in json.dumps(person[kind]), (kind, person)
    assert thistle not in json.dumps(person)
    assert any(chat["shared_as"] for chat in person["chats"])
    code, printed = await kept.command("ada", "--erase")
    assert (code, "Nothing is left" in printed) == (0, True), printed
    assert not await kept.holds(nettle)
    assert (await kept.command("ada", "--erase"))[0] == 1
    code, printed = await kept.command("bob", "--out", out)
    assert (code, "2 chats" in printed, "1 documents" in printed) == (0, True, True), printed
