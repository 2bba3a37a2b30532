"""The contract of indexes, with the configured Azure AI Search."""

from collections.abc import AsyncGenerator

import pytest

from shared.chat_types import Passage, RequestContext, RetrievalMode
from shared.parts import open_index
from shared.retrieval import FileEntry, PassageIndex, SearchQuery
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.retriever import AzureSearchRetriever
from shared.settings import Settings
from tests.live.search import index_of_its_own, settle
from tests.retrieval.index_contract import WORD, Held, PassageIndexContract

pytestmark = pytest.mark.live


class SettledIndex:
    """An index of which the tests see what was written: they wait until the service shows it."""

    def __init__(self, index: PassageIndex) -> None:
        self._index = index

    @property
    def stores_terms(self) -> bool:
        return self._index.stores_terms

    async def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
        await settle()
        async for one in self._index.fingerprints(sourcefile):
            yield one

    async def replace(self, *entries: FileEntry) -> None:
        await self._index.replace(*entries)

    async def remove(self, sourcefile: str) -> None:
        await self._index.remove(sourcefile)

    async def aclose(self) -> None:
        await self._index.aclose()


class TestLiveSearchIndex(PassageIndexContract):
    @pytest.fixture
    async def settings(self) -> AsyncGenerator[Settings]:
        async with index_of_its_own() as settings:
            yield settings

    @pytest.fixture
    async def index(self, settings: Settings) -> AsyncGenerator[PassageIndex]:
        index = SettledIndex(open_index(settings))
        yield index
        await index.aclose()

    @pytest.fixture
    async def held(self, settings: Settings) -> AsyncGenerator[Held]:
        retriever = AzureSearchRetriever(SearchConnection.from_settings(settings), settings, None, None)

        async def read() -> dict[str, Passage]:
            await settle()
            query = SearchQuery(WORD, RetrievalMode.TEXT, top=50)
            found = await retriever.search(query, RequestContext("live", float("inf")))
            return {one.id: _as_written(one) for one in found.passages}

        yield read
        await retriever.aclose()


def _as_written(passage: Passage) -> Passage:
    return Passage(
        *(passage.id, passage.content, passage.sourcepage, passage.sourcefile),
        *(passage.category, passage.oids, passage.groups),
    )
