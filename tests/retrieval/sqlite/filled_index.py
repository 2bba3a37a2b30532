"""Built-in indexes with passages, and retrievers over them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from shared.chat_types import Passage
from shared.retrieval import Embedder, FileEntry, SearchQuery
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.retrieval.retriever_contract import CONTEXT, passage


async def fill(path: Path, passages: Sequence[Passage], embedder: Embedder | None = None) -> None:
    index = SqliteIndex(path, embedder.model if embedder else None)
    for one in passages:
        vectors = await embedder.embed([one.content]) if embedder else None
        await index.replace(FileEntry(one.sourcefile, "1", [one], vectors))
    await index.aclose()


@asynccontextmanager
async def opened(path: Path, embedder: Embedder | None = None) -> AsyncGenerator[SqliteRetriever]:
    retriever = SqliteRetriever(path, embedder)
    try:
        yield retriever
    finally:
        await retriever.aclose()


async def found_in(path: Path, text: str, contents: Sequence[str]) -> list[str]:
    """The contents that a text search for `text` finds among `contents`."""
    await fill(path, [passage(str(number), content) for number, content in enumerate(contents)])
    async with opened(path) as retriever:
        result = await retriever.search(SearchQuery(text, top=50), CONTEXT)
    return [found.content for found in result.passages]
