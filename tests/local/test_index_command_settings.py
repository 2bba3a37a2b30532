"""Indexing as `make index` and `make run` do it, under the settings of this machine."""

import asyncio
import json
import os
from pathlib import Path
from uuid import uuid4

import pytest
from azure.storage.blob.aio import ContainerClient

from tests.local.running_host import REPOSITORY
from tests.local.test_index_command import COMMANDS
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.azurite import Azurite


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A working directory with `local.settings.json`, which moves the index, and two folders of documents."""
    settings = {"Values": {"DATA_DIR": "elsewhere"}}
    (tmp_path / "local.settings.json").write_text(json.dumps(settings))
    for folder, name in (("samples", "a.md"), ("samples", "b.md"), ("own", "c.md")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(f"# {name}\n\nThis is {name}.\n")
    return tmp_path


def index(machine: Path, *arguments: str, **more: str) -> tuple[int, str]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), **more}
    done = COMMANDS.run("local.index_command", *arguments, env=env, folder=machine)
    return done.returncode, done.stdout + done.stderr


def test_the_index_is_where_the_local_settings_put_it(machine: Path) -> None:
    code, printed = index(machine, "own")
    assert (code, "c.md: indexed 1 passage" in printed) == (0, True)
    assert (machine / "elsewhere" / "content" / "c.md").exists()


def test_the_first_run_brings_the_samples_and_the_second_says_nothing(machine: Path) -> None:
    assert "2 indexed" in index(machine, "--first", "samples")[1]
    assert index(machine, "--first", "samples") == (0, "")


async def test_an_index_in_azure_gets_no_samples(machine: Path) -> None:
    async with AISearchStandIn() as service:
        first = await asyncio.to_thread(index, machine, "--first", "samples", **service.settings)
        assert (first, service.requests) == ((0, ""), [])
        own = await asyncio.to_thread(index, machine, "own", **service.settings)
        assert "c.md: indexed 1 passage" in own[1]
        assert len(service.index.documents) == 1


def test_a_container_gets_no_samples(machine: Path) -> None:
    nobody = "AccountName=a;AccountKey=aaaa;BlobEndpoint=http://127.0.0.1:9/a;"
    assert index(machine, "--first", "samples", CONTENT_STORAGE=nobody) == (0, "")


async def test_the_index_follows_the_container_that_the_local_settings_name(azurite: Azurite, machine: Path) -> None:
    values = {"CONTENT_STORAGE": azurite.connection_string, "CONTENT_CONTAINER": f"content-{uuid4()}"}
    (machine / "local.settings.json").write_text(json.dumps({"Values": {"DATA_DIR": "elsewhere", **values}}))
    async with ContainerClient.from_connection_string(
        values["CONTENT_STORAGE"], values["CONTENT_CONTAINER"]
    ) as container:
        await container.create_container()
        await container.upload_blob("theirs.md", b"This is theirs.")
    for outcome in ("theirs.md: indexed 1 passage\n1 indexed\n", "theirs.md: unchanged\n1 unchanged\n"):
        assert await asyncio.to_thread(index, machine, "--sync") == (0, outcome)


def test_without_a_container_there_is_nothing_to_follow(machine: Path) -> None:
    code, printed = index(machine, "--sync")
    assert (code, "CONTENT_STORAGE" in printed) == (0, True)
    assert not (machine / "elsewhere").exists()


def test_what_an_interrupted_first_run_left_out_is_brought_by_the_next(machine: Path) -> None:
    (machine / "samples" / "b.md").rename(machine / "b.md")
    index(machine, "--first", "samples")
    (machine / "b.md").rename(machine / "samples" / "b.md")
    assert "b.md: indexed 1 passage" in index(machine, "--first", "samples")[1]


def test_an_index_of_your_own_is_left_alone(machine: Path) -> None:
    index(machine, "own")
    assert index(machine, "--first", "samples") == (0, "")
    assert (machine / "elsewhere" / "content" / "c.md").exists()


def test_wrong_local_settings_are_named(machine: Path) -> None:
    (machine / "local.settings.json").write_text("{")
    code, printed = index(machine, "own")
    assert code == 2
    assert "local.settings.json" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("data_dir", ["a-file", "a-file/below"])
def test_a_folder_that_cannot_be_written_is_one_sentence(machine: Path, data_dir: str) -> None:
    (machine / "a-file").touch()
    code, said = index(machine, "--first", "samples", DATA_DIR=data_dir)
    assert (code, said) == (1, "The search index cannot be opened. Check that DATA_DIR may be read and written.\n")
