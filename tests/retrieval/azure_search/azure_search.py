"""Retrievers over the stand-in for Azure AI Search, with the passages of `retriever_contract` in its index."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from shared.chat_types import Json, Passage
from shared.outbound.asking import RetryPolicy
from shared.retrieval import Embedder
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.retriever import AzureSearchRetriever
from shared.settings import Settings
from tests.retrieval.retriever_contract import LIBRARY
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.ai_search_demo import demo_index
from tests.stand_ins.hashed_embedder import DIMENSIONS, hashed_vector

IMAGE_DIMENSIONS = 32


def document(passage: Passage, *, images: bool = False, dimensions: int = DIMENSIONS) -> dict[str, Json]:
    """A passage as a document of the index, with vectors."""
    made: dict[str, Json] = {
        "id": passage.id,
        "content": passage.content,
        "category": passage.category,
        "sourcepage": passage.sourcepage,
        "sourcefile": passage.sourcefile,
        "oids": list[Json](passage.oids),
        "groups": list[Json](passage.groups),
        "embedding": list[Json](hashed_vector(passage.content, dimensions)),
    }
    if images:
        made["imageEmbedding"] = list[Json](hashed_vector(passage.content, IMAGE_DIMENSIONS))
    return made


@asynccontextmanager
async def search_service(
    passages: Sequence[Passage] = LIBRARY,
    *,
    dimensions: int = DIMENSIONS,
    images: bool = False,
    vectorizer: bool = False,
    without: Sequence[str] = (),
) -> AsyncGenerator[AISearchStandIn]:
    """The service with an index that has these passages; see `demo_index`."""
    async with AISearchStandIn() as service:
        definition = demo_index(
            dimensions=dimensions,
            image_dimensions=IMAGE_DIMENSIONS if images else None,
            vectorizer=vectorizer,
            without=without,
        )
        service.add_index(definition)
        for passage in passages:
            made = document(passage, images=images, dimensions=dimensions)
            service.add_documents({name: value for name, value in made.items() if name not in without})
        yield service


@asynccontextmanager
async def searching(
    service: AISearchStandIn,
    embedder: Embedder | None = None,
    image_embedder: Embedder | None = None,
    **more: str,
) -> AsyncGenerator[AzureSearchRetriever]:
    """A retriever over the service, under more settings."""
    settings = Settings.read(service.settings | more)
    connection = SearchConnection.from_settings(settings, RetryPolicy(first_backoff=0.01))
    retriever = AzureSearchRetriever(connection, settings, embedder, image_embedder)
    try:
        yield retriever
    finally:
        await retriever.aclose()
