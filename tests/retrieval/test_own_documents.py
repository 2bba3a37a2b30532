"""A person's own documents in searches: under the names that the person knows, and never somebody else's."""

from copy import replace
from pathlib import Path

import pytest

from shared.chat_types import Access, Caller, Passage
from shared.documents.own import folder_of
from shared.retrieval import SearchQuery
from shared.retrieval.filtered import OwnDocuments
from tests.retrieval.retriever_contract import CONTEXT
from tests.small_index import small_index

ADA, BEN = (folder_of(Caller(key=name)) for name in ("ada", "ben"))
TEXT = "The nettle grows in May."
PASSAGES = (
    *(
        Passage(f"{folder}1", TEXT, f"{folder}a.pdf#page=2", f"{folder}a.pdf", "mine", (folder,))
        for folder in (ADA, BEN)
    ),
    Passage("open", TEXT, "open.md", "open.md"),
    Passage("staff", TEXT, "staff.md", "staff.md", groups=("staff",)),
)


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (None, {"open.md", "staff.md"}),
        (Access(), set[str]()),
        (Access(all_shared=True), {"open.md", "staff.md"}),
        (Access(all_shared=True, own=ADA), {"mine/a.pdf#page=2", "open.md", "staff.md"}),
        (Access(None, (), own=ADA), {"mine/a.pdf#page=2"}),
        (Access(None, ("staff",), own=BEN), {"mine/a.pdf#page=2", "staff.md"}),
        (Access(BEN, (), open_documents=True), {"open.md"}),
    ],
)
async def test_a_search_finds_the_callers_own_and_what_is_shared_with_them(
    tmp_path: Path, access: Access | None, names: set[str]
) -> None:
    async with small_index(tmp_path, PASSAGES) as retriever:
        own, query = OwnDocuments(retriever), SearchQuery("nettle", top=5, access=access)
        found = (await own.search(query, CONTEXT)).passages
        assert {passage.sourcepage for passage in found} == names
        assert not access or len((await retriever.search(query, CONTEXT)).passages) == len(names)
        read = await own.read("mine/a.pdf", replace(CONTEXT, access=access))
        assert [passage.sourcefile for passage in read] == ["mine/a.pdf"] * any("mine/" in name for name in names)
        assert not await own.read(f"{BEN}a.pdf", replace(CONTEXT, access=Access(None, (), own=ADA)))
