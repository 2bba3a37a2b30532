"""The command `python -m local.index_command DOCS`, as a process of its own, into Azure AI Search's stand-in."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.test_index_command import SAMPLES, run
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.openai_service import OpenAIStandIn


async def make_index(service: AISearchStandIn, data: Path, docs: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(run, data, docs, **{**service.settings, **more})


def files(service: AISearchStandIn) -> dict[str, int]:
    """How many passages each file has in the index."""
    names = [str(document["sourcefile"]) for document in service.index.documents.values()]
    return {name: names.count(name) for name in dict.fromkeys(names)}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "benefits").mkdir(parents=True)
    (folder / "benefits" / "vision.md").write_text("# Vision\n\nGlasses are paid every second year.\n")
    (folder / "it's, new.md").write_text("# Office\n\nParking costs forty euros.\n")
    return folder


async def test_the_samples_are_indexed_once_with_vectors(service: AISearchStandIn, tmp_path: Path) -> None:
    async with OpenAIStandIn() as openai:
        first = await make_index(service, tmp_path, SAMPLES, **openai.settings)
        assert (first.returncode, first.stderr) == (0, "")
        assert first.stdout.splitlines()[-1] == "7 indexed"
        embedding = service.index.definition.field("embedding")
        assert embedding
        assert embedding.dimensions == openai.dimensions
        assert all("embedding" in document for document in service.index.documents.values())
        assert "leave" in [document.get("category") for document in service.index.documents.values()]
        before = service.index.documents.copy()
        embedded, written = len(openai.requests), len(service.bodies("write"))
        second = await make_index(service, tmp_path, SAMPLES, **openai.settings)
        assert (second.returncode, second.stderr) == (0, "")
        assert second.stdout.splitlines()[-1] == "7 unchanged"
        assert (len(openai.requests), len(service.bodies("write"))) == (embedded, written)
        assert service.index.documents == before
    assert not (tmp_path / "index.sqlite").exists()


async def test_what_changed_is_written_again_and_what_is_gone_is_removed(
    service: AISearchStandIn, tmp_path: Path, docs: Path
) -> None:
    await make_index(service, tmp_path, docs)
    assert files(service) == {"benefits/vision.md": 1, "it's, new.md": 1}
    (docs / "benefits" / "vision.md").unlink()
    (docs / "it's, new.md").write_text("Parking is free now.")
    done = await make_index(service, tmp_path, docs)
    assert done.stdout.splitlines() == [
        "benefits/vision.md: removed",
        "it's, new.md: indexed 1 passage",
        "1 indexed, 1 removed",
    ]
    assert [document["content"] for document in service.index.documents.values()] == ["Parking is free now."]


async def test_what_others_wrote_into_the_index_stays(service: AISearchStandIn, tmp_path: Path, docs: Path) -> None:
    await make_index(service, tmp_path, docs)
    service.add_documents(
        {"id": "theirs", "content": "Theirs.", "sourcefile": "theirs.pdf"},
        {"id": "by-upload", "content": "Ours.", "sourcefile": "uploaded.pdf", "fingerprint": "stored:1"},
    )
    (docs / "benefits" / "vision.md").unlink()
    await make_index(service, tmp_path, docs)
    assert files(service) == {"it's, new.md": 1, "theirs.pdf": 1, "uploaded.pdf": 1}


async def test_an_index_of_the_demo_is_not_touched_before_it_has_room_for_fingerprints(
    service: AISearchStandIn, tmp_path: Path, docs: Path
) -> None:
    service.add_index(demo_index())
    service.add_documents({"id": "theirs", "content": "Theirs.", "sourcefile": "theirs.pdf"})
    done = await make_index(service, tmp_path, docs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Add a field fingerprint" in done.stderr
    assert "Traceback" not in done.stderr
    assert files(service) == {"theirs.pdf": 1}


FAULTS: dict[str, tuple[Callable[[AISearchStandIn], None], int, str]] = {
    "a wrong key": (lambda service: service.fail(403), 2, "AZURE_SEARCH_API_KEY"),
    "no answer of the service": (lambda service: service.reply(b"<html>"), 1, "AZURE_SEARCH_ENDPOINT"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_service_is_told_in_a_sentence(
    service: AISearchStandIn, tmp_path: Path, docs: Path, fault: str
) -> None:
    script, code, words = FAULTS[fault]
    script(service)
    done = await make_index(service, tmp_path, docs)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_file_that_the_service_does_not_take_is_told_and_done_the_next_time(
    service: AISearchStandIn, tmp_path: Path, docs: Path
) -> None:
    service.fail(400, on="write", times=2)  # of both files together, and of the first by itself
    first = await make_index(service, tmp_path, docs)
    assert first.returncode == 3
    assert "benefits/vision.md: failed: cannot be indexed now: Azure AI Search does not accept" in first.stdout
    assert first.stdout.splitlines()[-1] == "1 indexed, 1 failed"
    second = await make_index(service, tmp_path, docs)
    assert second.stdout.splitlines()[-1] == "1 indexed, 1 unchanged"


async def test_a_service_that_is_configured_by_half_is_named(
    service: AISearchStandIn, tmp_path: Path, docs: Path
) -> None:
    done = await make_index(service, tmp_path, docs, AZURE_SEARCH_INDEX="")
    assert (done.returncode, done.stdout) == (2, "")
    assert "AZURE_SEARCH_INDEX is missing" in done.stderr
    assert not (tmp_path / "index.sqlite").exists()
