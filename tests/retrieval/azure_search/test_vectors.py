"""Vectors of questions in Azure AI Search: which fields they search, who makes them, and what if nobody can."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from copy import replace

import pytest

from shared.chat_types import RequestContext, RetrievalMode
from shared.errors import BadRequest, TooSlow, Unavailable
from shared.retrieval import SearchQuery
from tests.retrieval.azure_search.azure_search import IMAGE_DIMENSIONS, search_service, searching
from tests.retrieval.retriever_contract import CONTEXT
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.hashed_embedder import HashedEmbedder

TEXT, VECTORS, HYBRID = RetrievalMode.TEXT, RetrievalMode.VECTORS, RetrievalMode.HYBRID


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with search_service(images=True, vectorizer=True) as service:
        yield service


async def test_vectors_that_nothing_makes_are_refused_with_the_settings_to_set(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        with pytest.raises(BadRequest, match=r"OPENAI_EMBEDDING_MODEL.*EMBEDDINGS=index.*`text`"):
            await retriever.search(SearchQuery("glasses", VECTORS), CONTEXT)
        with pytest.raises(BadRequest, match="AZURE_VISION_ENDPOINT"):
            await retriever.search(SearchQuery("glasses", VECTORS, vector_fields=("imageEmbedding",)), CONTEXT)
    assert service.requests == []


async def test_a_hybrid_search_without_vectors_is_a_text_search_that_says_so(service: AISearchStandIn) -> None:
    async with searching(service) as retriever:
        result = await retriever.search(SearchQuery("vision", HYBRID), CONTEXT)
        quiet = await retriever.search(SearchQuery("vision"), CONTEXT)
    assert result.mode is quiet.mode is TEXT
    assert result.note
    assert result.note.startswith("Searched by text only. ")
    assert quiet.note is None


async def test_a_field_that_cannot_be_searched_is_told_where_another_one_is(service: AISearchStandIn) -> None:
    query = SearchQuery("vision", VECTORS, vector_fields=("textAndImageEmbeddings",))
    async with searching(service, HashedEmbedder()) as retriever:
        result = await retriever.search(query, CONTEXT)
    assert result.note
    assert "AZURE_VISION_ENDPOINT" in result.note
    assert result.details["vector_fields"] == ["embedding"]


async def test_where_another_field_will_do_vectors_of_images_that_nothing_makes_are_not_refused(
    service: AISearchStandIn,
) -> None:
    query = SearchQuery("vision", VECTORS, vector_fields=("imageEmbedding",), any_vector_field=True)
    async with searching(service, HashedEmbedder()) as retriever:
        result = await retriever.search(query, CONTEXT)
        by_both = await retriever.search(replace(query, mode=HYBRID), CONTEXT)
    assert (result.mode, result.details["vector_fields"]) == (VECTORS, ["embedding"])
    assert (by_both.mode, by_both.details["vector_fields"]) == (TEXT, [])
    for note in (result.note, by_both.note):
        assert "AZURE_VISION_ENDPOINT" in str(note)
    async with searching(service) as retriever:
        with pytest.raises(BadRequest, match="AZURE_VISION_ENDPOINT"):
            await retriever.search(query, CONTEXT)


async def test_an_unknown_vector_field_is_refused_with_those_that_there_are(service: AISearchStandIn) -> None:
    async with searching(service, HashedEmbedder()) as retriever:
        with pytest.raises(BadRequest, match=r"vector_fields.*embedding, imageEmbedding, textEmbeddingOnly"):
            await retriever.search(SearchQuery("glasses", vector_fields=("embeddings",)), CONTEXT)


class _Slow(HashedEmbedder):
    """Goes on when the other one has begun as well."""

    def __init__(self, barrier: asyncio.Barrier, dims: int = 64) -> None:
        super().__init__(dims=dims)
        self._barrier = barrier

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        await self._barrier.wait()
        return await super().embed(texts)


async def test_the_vectors_of_texts_and_images_are_made_at_the_same_time(service: AISearchStandIn) -> None:
    barrier = asyncio.Barrier(2)
    async with asyncio.timeout(60), searching(service, _Slow(barrier), _Slow(barrier, IMAGE_DIMENSIONS)) as retriever:
        result = await retriever.search(SearchQuery("vision"), CONTEXT)
    assert result.details["vector_fields"] == ["embedding", "imageEmbedding"]


async def test_vectors_that_do_not_come_within_the_deadline_are_too_slow(service: AISearchStandIn) -> None:
    context = RequestContext("test", asyncio.get_running_loop().time() + 0.1)
    async with searching(service, _Slow(asyncio.Barrier(2))) as retriever:
        with pytest.raises(TooSlow):
            await retriever.search(SearchQuery("vision"), context)


class _Broken(HashedEmbedder):
    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        raise Unavailable(f"The embedding service is down for {len(texts)}.")


class _Endless(HashedEmbedder):
    """Goes on until it is cancelled."""

    def __init__(self, dims: int) -> None:
        super().__init__(dims=dims)
        self.cancelled = asyncio.Event()

    async def embed(self, texts: Sequence[str], **_: bool) -> list[list[float]]:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return await super().embed(texts)


async def test_where_one_vector_fails_the_other_is_given_up(service: AISearchStandIn) -> None:
    images = _Endless(IMAGE_DIMENSIONS)
    async with searching(service, _Broken(), images) as retriever:
        with pytest.raises(Unavailable):
            await retriever.search(SearchQuery("vision"), CONTEXT)
        async with asyncio.timeout(60):
            await images.cancelled.wait()


async def test_a_fault_of_the_embedding_service_is_raised_in_a_hybrid_search(service: AISearchStandIn) -> None:
    async with searching(service, _Broken()) as retriever:
        with pytest.raises(Unavailable, match="embedding service"):
            await retriever.search(SearchQuery("vision", HYBRID), CONTEXT)
