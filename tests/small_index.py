"""A small index, for tests of what searches it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from shared.chat_types import Passage
from shared.retrieval.sqlite_index import SqliteIndex
from shared.retrieval.sqlite_retriever import SqliteRetriever

PASSAGES = (
    Passage("1", "The Standard plan pays 80 % of dental care.", "plan.pdf#page=3", "plan.pdf", "health"),
    Passage("2", "Dental implants are paid after two years.", "dental.md", "dental.md", "health"),
    Passage("3", "Vacation is 30 days a year.", "leave.md", "leave.md", "leave", oids=("me",), groups=("staff",)),
)


@asynccontextmanager
async def small_index(folder: Path) -> AsyncGenerator[SqliteRetriever]:
    """Index the passages in a folder, and search them by text."""
    index = SqliteIndex(folder / "index.sqlite")
    for passage in PASSAGES:
        await index.replace(passage.sourcefile, "1", [passage], None)
    await index.aclose()
    retriever = SqliteRetriever(folder / "index.sqlite", None)
    yield retriever
    await retriever.aclose()
