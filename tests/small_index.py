"""Small indexes, for tests of what searches them."""

from collections import defaultdict
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
    """Make the app's index below its `DATA_DIR`."""
    files = defaultdict[str, list[Passage]](list)
    for passage in passages:
        files[passage.sourcefile].append(passage)
    index = SqliteIndex(folder / "index.sqlite")
    for name, found in files.items():
        await index.replace(FileEntry(name, "1", found))
    await index.aclose()


@asynccontextmanager
async def small_index(folder: Path, passages: Iterable[Passage] = PASSAGES) -> AsyncGenerator[SqliteRetriever]:
    """Index passages in a folder, and search them by text."""
    await write_index(folder, passages)
    retriever = SqliteRetriever(folder / "index.sqlite", None)
    yield retriever
    await retriever.aclose()
