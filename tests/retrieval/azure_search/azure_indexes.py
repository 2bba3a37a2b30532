"""Indexes in the stand-in for Azure AI Search, for the tests of what is written there."""

from collections.abc import Awaitable, Mapping

import pytest

from shared.errors import SwitchboardError
from shared.outbound.asking import RetryPolicy
from shared.retrieval import FileEntry
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.index import AzureSearchIndex
from shared.retrieval.azure_search.schema import IndexPlan
from shared.retrieval.azure_search.writer import Bounds
from shared.settings import Settings
from tests.retrieval.index_contract import passages_of, vectors_of
from tests.stand_ins.ai_search import AISearchStandIn

QUICK = RetryPolicy(first_backoff=0.001)
SMALL = Bounds(actions=2, batch_bytes=4_000, page=3, window=6)
"""So that few passages are many batches, pages and windows."""


def open_index(
    service: AISearchStandIn,
    bounds: Bounds | None = None,
    more: Mapping[str, str] | None = None,
    *,
    settling: float = 0,
) -> AzureSearchIndex:
    settings = Settings.read({**service.settings, **(more or {})})
    connection = SearchConnection.from_settings(settings, QUICK)
    return AzureSearchIndex(connection, IndexPlan(settings), bounds, settling=settling)


async def write(index: AzureSearchIndex, name: str, mark: str, count: int, text: str = "") -> None:
    passages = passages_of(name, count, text)
    await index.replace(FileEntry(name, mark, passages, vectors_of(passages)))


async def error_of(work: Awaitable[object], kind: type[SwitchboardError]) -> str:
    with pytest.raises(kind) as caught:
        await work
    assert type(caught.value) is kind
    return caught.value.message
