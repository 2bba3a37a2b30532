"""The contract of retrievers, with the configured Azure AI Search."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from shared.chat_types import RetrievalMode
from shared.parts import open_index
from shared.retrieval import FileEntry, Retriever
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.retriever import AzureSearchRetriever
from shared.settings import Settings
from tests.live.search import index_of_its_own, settle
from tests.retrieval.retriever_contract import LIBRARY, RetrieverContract
from tests.stand_ins.hashed_embedder import HashedEmbedder, hashed_vector

pytestmark = pytest.mark.live


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled() -> AsyncGenerator[Settings]:
    """Settings of an index with the contract's passages."""
    async with index_of_its_own() as settings:
        index = open_index(settings)
        for passage in LIBRARY:
            await index.replace(FileEntry(passage.sourcefile, "1", [passage], [hashed_vector(passage.content)]))
        await index.aclose()
        await settle()
        yield settings


@pytest.fixture
async def retriever(filled: Settings) -> AsyncGenerator[Retriever]:
    retriever = AzureSearchRetriever(SearchConnection.from_settings(filled), filled, HashedEmbedder(), None)
    yield retriever
    await retriever.aclose()


class TestLiveSearchByText(RetrieverContract):
    mode = RetrievalMode.TEXT


class TestLiveSearchByVector(RetrieverContract):
    mode = RetrievalMode.VECTORS


class TestLiveSearchHybrid(RetrieverContract):
    mode = RetrievalMode.HYBRID
