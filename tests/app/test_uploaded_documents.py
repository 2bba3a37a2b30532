"""The whole way of a document that somebody puts into the container: to a cited answer, and out of it again.

Azurite keeps the documents, the local host writes the events of its blobs into its queue as Event Grid does, and the
app indexes them; with the built-in index, and with the stand-in for Azure AI Search.
"""

import asyncio
import hashlib
import json
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from tests.app import conftest
from tests.app.test_answers import body
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import EMBEDDINGS, OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

PDF = REPOSITORY / "samples" / "documents" / "health" / "health-plans-handbook.pdf"
ON_APPEALS = "How long do I have to appeal a refused claim?"
SOON = {"AzureFunctionsJobHost__extensions__queues__visibilityTimeout": "00:00:00"}
"""What failed is tried again at once."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def search() -> AsyncGenerator[AISearchStandIn]:
    async with AISearchStandIn() as service:
        yield service


class Container:
    """A container of a test's own, the queue of its events, and the settings of an app that watches it."""

    def __init__(self, azurite: Azurite) -> None:
        name = f"c{uuid4().hex}"
        connection = azurite.connection_string
        self.blobs = ContainerClient.from_connection_string(connection, name)
        self.queue = QueueClient.from_connection_string(connection, f"{name}-events")
        self.poison = QueueClient.from_connection_string(connection, f"{name}-events-poison")
        self.settings = {
            "CONTENT_STORAGE": connection,
            "CONTENT_CONTAINER": name,
            "HISTORY_BACKEND": "off",
            **SOON,
        }

    async def upload(self, name: str, content: bytes, **metadata: str) -> None:
        await self.blobs.upload_blob(name, content, overwrite=True, metadata=metadata)

    async def worked_off(self) -> None:
        """Wait until the queue has no event: a host deletes one only after it has logged its success."""
        async with asyncio.timeout(60):
            while (await self.queue.get_queue_properties()).approximate_message_count:  # noqa: ASYNC110 (another process)
                await asyncio.sleep(0.05)

    async def given_up(self) -> list[str]:
        try:
            return [message.content for message in await self.poison.peek_messages(32)]
        except ResourceNotFoundError:  # it is made for the first message
            return []


@pytest_asyncio.fixture(loop_scope="session")
async def container(azurite: Azurite) -> AsyncGenerator[Container]:
    made = Container(azurite)
    await made.blobs.create_container()
    yield made
    for client in (made.blobs, made.queue, made.poison):
        await client.close()


@pytest.fixture
def index(request: pytest.FixtureRequest, openai: OpenAIStandIn, search: AISearchStandIn) -> dict[str, str]:
    """The settings of a model, and of an index that is empty or absent."""
    if getattr(request, "param", "") != "ai-search":
        return openai.settings
    search.indexes.clear()
    return openai.settings | search.settings


@asynccontextmanager
async def hosted(tmp_path: Path, *settings: Mapping[str, str]) -> AsyncGenerator[RunningHost]:
    merged = {name: value for each in settings for name, value in each.items()}
    async with conftest.hosted(tmp_path, merged) as host:
        yield host


def label(name: str) -> str:
    """What the log calls a document."""
    return f"document {hashlib.sha256(name.encode()).hexdigest()[:12]}"


async def logged(host: RunningHost, pattern: str) -> None:
    await asyncio.to_thread(host.wait_for, pattern)


async def ask(http: aiohttp.ClientSession, host: RunningHost, question: str) -> dict[str, Any]:
    overrides = {"retrieval_mode": "text"}
    async with http.post(host.url + "/chat", json=body(question, context={"overrides": overrides})) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def content(http: aiohttp.ClientSession, host: RunningHost, name: str) -> tuple[int, bytes]:
    async with http.get(f"{host.url}/content/{name}") as response:
        return response.status, await response.read()


@pytest.mark.parametrize("index", ["embedded", "ai-search"], indirect=True)
async def test_an_uploaded_pdf_ends_up_as_a_cited_answer_and_a_deleted_one_is_gone(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, f"content_event +queueTrigger, queue {container.queue.queue_name}")
        await container.upload("health/Unser Handbuch.pdf", PDF.read_bytes())
        await logged(host, rf"{label('health/Unser Handbuch.pdf')}: indexed \d+ passages")

        answer = await ask(http, host, ON_APPEALS)
        assert "[health/Unser Handbuch.pdf#page=5]" in answer["message"]["content"]
        assert "180 days" in answer["context"]["data_points"]["text"][0]
        assert await content(http, host, "health/Unser Handbuch.pdf") == (200, PDF.read_bytes())

        await container.blobs.delete_blob("health/Unser Handbuch.pdf")
        await logged(host, f"{label('health/Unser Handbuch.pdf')}: removed")
        assert not (await ask(http, host, ON_APPEALS))["context"]["data_points"]["text"]
        assert (await content(http, host, "health/Unser Handbuch.pdf"))[0] == 404
    assert not await container.given_up()
    assert "Handbuch" not in host.log()
    assert "Unclosed" not in host.log()


async def test_an_upload_over_http_goes_into_the_container_whose_trigger_indexes_it(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    async with hosted(tmp_path, container.settings, index) as host:
        url = f"{host.url}/documents/office/hours.md"

        async def put() -> int:
            async with http.put(url, data=b"The office opens at nine.") as response:
                assert (response.status, (await response.json()).get("state")) in {(202, "queued"), (409, None)}
                return response.status

        assert sorted(await asyncio.gather(*(put() for _ in range(8)))) == [202] + [409] * 7
        await logged(host, f"{label('office/hours.md')}: indexed 1 passage")
        assert "nine" in str((await ask(http, host, "When does the office open?"))["context"]["data_points"])
        async with http.put(url, data=b"The office opens at ten.") as response:
            assert response.status == 409
        async with http.put(url, params={"overwrite": "true"}, data=b"The office opens at ten.") as response:
            assert response.status == 202
        await logged(host, f"{label('office/hours.md')}: indexed[^$]*{label('office/hours.md')}: indexed 1 passage")
        assert "ten" in str((await ask(http, host, "When does the office open?"))["context"]["data_points"])
        async with http.delete(url) as response:
            assert response.status == 204
        assert [blob async for blob in container.blobs.list_blob_names()] == []
        assert not (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"]


async def test_a_document_that_changes_is_indexed_anew_and_one_that_does_not_is_left_alone(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    await container.upload("hours.md", b"The office opens at nine.")
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, f"{label('hours.md')}: indexed 1 passage")
        await container.upload("hours.md", b"The office opens at nine.")
        await logged(host, f"{label('hours.md')}: unchanged")
        await container.upload("hours.md", b"The office opens at ten.")
        await logged(host, f"{label('hours.md')}: indexed[^$]*{label('hours.md')}: indexed 1 passage")
        assert (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"] == [
            "hours.md: The office opens at ten."
        ]


async def test_a_document_that_cannot_be_read_is_told_and_holds_up_no_other(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    for name, damaged in (("a.pdf", PDF.read_bytes()[:900]), ("b.pdf", b""), ("c.docx", b"PK\3\4"), ("d.exe", b"MZ")):
        await container.upload(name, damaged)
    await container.upload(".hidden.md", b"The office opens at five.")
    await container.upload("office.md", b"The office opens at nine.")
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, f"{label('office.md')}: indexed 1 passage")
        for name in ("a.pdf", "c.docx"):
            await logged(host, f"{label(name)}: failed is damaged")
        await logged(host, f"{label('b.pdf')}: failed is empty")
        await logged(host, f"{label('d.exe')}: skipped")
        await logged(host, f"{label('.hidden.md')}: skipped")
        points = (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"]
        assert points == ["office.md: The office opens at nine."]
    assert not await container.given_up()
    assert "content_event failed" not in host.log()


async def test_a_fault_of_a_service_is_tried_five_times_and_then_in_the_poison_queue(
    tmp_path: Path, container: Container, index: dict[str, str], openai: OpenAIStandIn
) -> None:
    async with hosted(tmp_path, container.settings, index) as host:
        openai.fail(400, on=EMBEDDINGS, times=4)
        await container.upload("four.md", b"Four faults are one too few.")
        await logged(host, f"{label('four.md')}: indexed 1 passage")
        openai.fail(400, on=EMBEDDINGS, times=5)
        await container.upload("five.md", b"Five faults are enough.")
        await logged(host, "went to queue .*-poison: it was tried 5 times")
    assert host.log().count(f"{label('four.md')} cannot be indexed now") == 4
    assert host.log().count(f"{label('five.md')} cannot be indexed now") == 5
    (message,) = await container.given_up()
    assert json.loads(b64decode(message))["subject"].endswith("/blobs/five.md")
    assert "five.md" not in host.log()
    assert "Five faults" not in host.log()


@pytest.mark.nightly
async def test_an_index_that_is_down_is_a_fault_of_the_moment(
    tmp_path: Path, container: Container, openai: OpenAIStandIn, search: AISearchStandIn
) -> None:
    search.indexes.clear()
    search.fail(403, on="write", times=2)
    async with hosted(tmp_path, container.settings, openai.settings, search.settings) as host:
        await container.upload("office.md", b"The office opens at nine.")
        await logged(host, f"{label('office.md')} cannot be indexed now[^$]*{label('office.md')}: indexed 1 passage")
    assert not await container.given_up()


async def test_events_count_only_as_a_hint_and_senseless_ones_end_in_the_poison_queue(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    def event(name: str, kind: str) -> str:
        subject = f"/blobServices/default/containers/{container.blobs.container_name}/blobs/{name}"
        return json.dumps({"eventType": f"Microsoft.Storage.{kind}", "subject": subject, "data": {}})

    await container.queue.create_queue()
    await container.upload("office.md", b"The office opens at nine.")
    for _ in range(5):  # late, twice, in the wrong order, at once, and of what was never there
        await container.queue.send_message(event("office.md", "BlobCreated"))
        await container.queue.send_message(event("office.md", "BlobDeleted"))
        await container.queue.send_message(event("never-there.md", "BlobCreated"))
    senseless = ("hello", "{}", '{"eventType": "Microsoft.Storage.BlobCreated"}')
    for message in senseless:
        await container.queue.send_message(message)
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, "(went to queue .*-poison: it was tried 5 times[^$]*){3}")
        await logged(host, f"({label('office.md')}: [^$]*){{11}}")
        points = (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"]
        assert points == ["office.md: The office opens at nine."]
    assert host.log().count(f"{label('office.md')}: indexed") == 1
    assert sorted(await container.given_up()) == sorted(senseless)


@pytest.mark.nightly
async def test_what_was_deleted_while_nobody_watched_is_noticed_later(
    tmp_path: Path, container: Container, index: dict[str, str], http: aiohttp.ClientSession
) -> None:
    await container.upload("old.md", b"The office opens at eight.")
    await container.upload("new.md", b"The canteen opens at noon.")
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, f"{label('old.md')}: indexed")
        await logged(host, f"{label('new.md')}: indexed")
    await container.blobs.delete_blob("old.md")
    async with hosted(tmp_path, container.settings, index) as host:
        await logged(host, f"{label('old.md')}: removed")
        points = (await ask(http, host, "When does the office open?"))["context"]["data_points"]["text"]
        assert "old.md: The office opens at eight." not in points
    assert f"{label('new.md')}: indexed" not in host.log()
