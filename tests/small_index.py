"""Small indexes, for tests of what searches them."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from shared.chat_types import Passage
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever

PASSAGES = (
    Passage("1", "The Standard plan pays 80 % of dental care.", "plan.pdf#page=3", "plan.pdf", "health"),
    Passage("2", "Dental implants are paid after two years.", "dental.md", "dental.md", "health"),
    Passage("3", "Vacation is 30 days a year.", "leave.md", "leave.md", "leave", oids=("me",), groups=("staff",)),
)


async def write_index(folder: Path, passages: Iterable[Passage]) -> None:
    """Make the app's index below its `DATA_DIR`, of passages that are a file each."""
    index = SqliteIndex(folder / "index.sqlite")
    for passage in passages:
        await index.replace(FileEntry(passage.sourcefile, "1", [passage]))
    await index.aclose()


@asynccontextmanager
async def small_index(folder: Path, passages: Iterable[Passage] = PASSAGES) -> AsyncGenerator[SqliteRetriever]:
    """Index passages in a folder, and search them by text."""
    await write_index(folder, passages)
    retriever = SqliteRetriever(folder / "index.sqlite", None)
    yield retriever
    await retriever.aclose()
