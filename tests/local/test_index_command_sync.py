"""The command `python -m local.index_command --sync`, as a process of its own, with the real index and store."""

import asyncio
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob.aio import ContainerClient

from tests.kinds import one_in
from tests.local.test_index_command import FORMATS, ROOT, command, environment, fingerprints, run
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.azurite import KEY, Azurite
from tests.stand_ins.openai_service import EMBEDDINGS, OpenAIStandIn


class Place:
    """A container, and the settings of a command that follows it."""

    def __init__(self, azurite: Azurite, data: Path) -> None:
        self.data = data
        self.name = f"content-{uuid4()}"
        self.client = ContainerClient.from_connection_string(azurite.connection_string, self.name)
        self.settings = {"CONTENT_STORAGE": azurite.connection_string, "CONTENT_CONTAINER": self.name}

    async def upload(self, name: str, content: str | bytes, **metadata: str) -> None:
        await self.client.upload_blob(name, content, overwrite=True, metadata=metadata)

    async def sync(self, more: Mapping[str, str] | None = None) -> tuple[int, list[str]]:
        """The exit code and the lines."""
        done = await asyncio.to_thread(run, self.data, "--sync", **{**self.settings, **(more or {})})
        assert "Traceback" not in done.stderr
        return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.fixture
async def place(azurite: Azurite, tmp_path: Path) -> AsyncGenerator[Place]:
    place = Place(azurite, tmp_path)
    async with place.client:
        await place.client.create_container()
        yield place


async def test_the_built_in_index_follows_the_container_with_a_line_each(place: Place) -> None:
    await place.upload("a.md", "Text.")
    await place.upload("b.md", "Text.")
    await place.upload("music.mp3", "ID3")
    skipped = f"music.mp3: skipped: has no format that can be read ({FORMATS})."
    first = ["a.md: indexed 1 passage", "b.md: indexed 1 passage", "2 indexed, 1 skipped"]
    assert await place.sync() == (0, [skipped, *first])
    await place.client.delete_blob("a.md")
    assert await place.sync() == (
        0,
        ["b.md: unchanged", skipped, "a.md: removed", "1 unchanged, 1 removed, 1 skipped"],
    )
    await place.client.delete_blob("music.mp3")
    await place.client.delete_blob("b.md")
    code, (said,) = await place.sync()
    assert (code, said.partition(",")[0]) == (2, "There are no documents in the container")
    await place.upload("music.mp3", "ID3")
    assert await place.sync() == (0, [skipped, "b.md: removed", "1 removed, 1 skipped"])
    await place.client.delete_blob("music.mp3")
    assert await place.sync() == (0, ["no documents"])


async def test_an_index_in_azure_follows_bytes_and_rights_and_keeps_what_others_wrote(
    place: Place, service: AISearchStandIn
) -> None:
    def entries(name: str) -> list[tuple[object, object]]:
        found = [each for each in service.index.documents.values() if each["sourcefile"] == name]
        return [(each["content"], each.get("groups")) for each in found]

    async with OpenAIStandIn() as openai:
        settings = {**service.settings, **openai.settings}
        await place.upload("it's, new.md", "Parking costs forty euros.", groups="staff")
        await place.upload("b.md", "Glasses are paid every second year.")
        assert (await place.sync(settings))[1][-1] == "2 indexed"
        service.add_documents({"id": "theirs", "content": "Theirs.", "sourcefile": "theirs.pdf"})
        asked = len(openai.requests), len(service.bodies("write"))
        assert await place.sync(settings) == (0, ["b.md: unchanged", "it's, new.md: unchanged", "2 unchanged"])
        assert (len(openai.requests), len(service.bodies("write"))) == asked
        await place.client.get_blob_client("it's, new.md").set_blob_metadata({"groups": "board"})
        await place.client.delete_blob("b.md")
        assert (await place.sync(settings))[1][-1] == "1 indexed, 1 removed"
    assert entries("it's, new.md") == [("Parking costs forty euros.", ["board"])]
    assert (entries("b.md"), len(entries("theirs.pdf"))) == ([], 1)
    assert all("embedding" in each for key, each in service.index.documents.items() if key != "theirs")


@pytest.mark.nightly
async def test_what_the_service_did_not_take_whole_is_told_and_done_the_next_time(
    place: Place, service: AISearchStandIn
) -> None:
    await place.upload("a.md", "Text.")
    await place.upload("b.md", "Text.")
    service.fail(400, on="write")
    code, lines = await place.sync(service.settings)
    assert (code, lines[2]) == (3, "1 indexed, 1 failed")
    assert "a.md: failed: cannot be indexed now: Azure AI Search does not accept" in lines[0]
    assert await place.sync(service.settings) == (
        0,
        ["b.md: unchanged", "a.md: indexed 1 passage", "1 indexed, 1 unchanged"],
    )


REFUSED: dict[str, tuple[Callable[[dict[str, str]], Mapping[str, str]], int, str]] = {
    "no storage": (lambda _: {"CONTENT_STORAGE": ""}, 0, "There is no container to follow"),
    "no container": (lambda _: {"CONTENT_CONTAINER": "nowhere"}, 2, "CONTENT_CONTAINER"),
    "no right to list it": (
        lambda settings: {"CONTENT_STORAGE": settings["CONTENT_STORAGE"].replace(KEY, "d3Jvbmc=")},
        1,
        "'Storage Blob Data Reader'",
    ),
    "half a configuration": (lambda _: {"AZURE_SEARCH_ENDPOINT": "https://a.search.windows.net"}, 2, "AZURE_SEARCH"),
}


@pytest.mark.parametrize("refused", one_in(2, REFUSED))
async def test_what_cannot_be_followed_is_told_in_a_sentence_and_nothing_is_removed(place: Place, refused: str) -> None:
    change, code, words = REFUSED[refused]
    await place.upload("a.md", "Text.")
    await place.sync()
    before = await asyncio.to_thread(fingerprints, place.data)
    await place.client.delete_blob("a.md")
    returned, (*_logged, line) = await place.sync(change(place.settings))
    assert (returned, words in line) == (code, True)
    assert await asyncio.to_thread(fingerprints, place.data) == before


async def test_a_folder_and_the_container_are_not_indexed_at_once(place: Place) -> None:
    for arguments in ((), ("--sync", place.data)):
        done = await asyncio.to_thread(run, place.data, *arguments, **place.settings)
        assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.nightly
async def test_ctrl_c_ends_it_with_130_and_the_next_run_goes_on(place: Place) -> None:
    async with OpenAIStandIn() as openai:
        for name in ("gone.md", "same.md"):
            await place.upload(name, f"This is {name}.")
        await place.sync(openai.settings)
        await place.client.delete_blob("gone.md")
        await place.upload("new.md", "This is new.")
        openai.hang(on=EMBEDDINGS)
        hanging = len(openai.requests) + 1
        process = await asyncio.create_subprocess_exec(
            *command("--sync"), cwd=ROOT, env=environment(place.data, **place.settings, **openai.settings), stderr=PIPE
        )
        await openai.request_number(hanging)
        process.send_signal(signal.SIGINT)
        _, complaint = await process.communicate()
        assert process.returncode == 130
        assert complaint.startswith(b"Interrupted. What was finished is kept")
        assert set(await asyncio.to_thread(fingerprints, place.data)) == {"same.md"}
        assert await place.sync(openai.settings) == (
            0,
            ["same.md: unchanged", "new.md: indexed 1 passage", "1 indexed, 1 unchanged"],
        )
