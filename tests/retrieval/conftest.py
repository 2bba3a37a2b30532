"""The stand-in for Azure AI Search, and indexes in it."""

from collections.abc import AsyncGenerator

import pytest

from shared.retrieval.azure_search.index import AzureSearchIndex
from tests.retrieval.azure_search.azure_indexes import SMALL, open_index
from tests.stand_ins.ai_search import AISearchStandIn


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with AISearchStandIn() as service:
        yield service


@pytest.fixture
async def one(service: AISearchStandIn) -> AsyncGenerator[AzureSearchIndex]:
    """An index with the service's own bounds."""
    index = open_index(service)
    yield index
    await index.aclose()


@pytest.fixture
async def small(service: AISearchStandIn) -> AsyncGenerator[AzureSearchIndex]:
    """An index with bounds so small that few passages are many batches, pages and windows."""
    index = open_index(service, SMALL)
    yield index
    await index.aclose()
