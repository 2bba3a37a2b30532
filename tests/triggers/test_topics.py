"""What the playground offers to ask about first: headings of the documents that the caller may see."""

import asyncio
from pathlib import Path

import pytest

from shared.chat_types import Access, Passage, RequestContext
from shared.documents.file_store import FileStore
from shared.triggers.playground import topics_of
from tests.small_index import small_index

SAYS = "This paragraph is long enough to say something about the heading that stands above it."
PASSAGES = (
    Passage("1", f"# Harbour\n\n## Mooring overnight\n\n{SAYS}", "harbour.md", "harbour.md", title="Harbour"),
    Passage(
        "2", f"## Opening hours\n\n{SAYS}\n\n## May I bring a dog?\n\n{SAYS}", "faq.md", "faq.md", title="Questions"
    ),
    Passage("3", f"## Wages of everybody\n\n{SAYS}", "hidden.md", "hidden.md", oids=("boss",)),
    Passage("4", "No headings.", "notes/plain_text.md", "notes/plain_text.md"),
)


@pytest.mark.parametrize(
    ("access", "topics"),
    [
        (None, ["May I bring a dog?", "Mooring overnight", "Wages of everybody"]),
        (Access(open_documents=True), ["May I bring a dog?", "Mooring overnight", "notes plain text"]),
        (Access(), []),
    ],
)
async def test_topics_are_headings_of_documents_that_the_caller_may_see(
    tmp_path: Path, access: Access | None, topics: list[str]
) -> None:
    store = FileStore(tmp_path / "content")
    for passage in PASSAGES:
        await store.keep(passage.sourcefile, b"text")
    async with small_index(tmp_path, PASSAGES) as retriever:
        context = RequestContext("test", asyncio.get_running_loop().time() + 60, access=access)
        assert await topics_of(store, retriever, context) == topics
