"""What each override asks of Azure AI Search, to the letter."""

from collections.abc import AsyncGenerator

import pytest

from shared.chat_types import Access, Json, RetrievalMode
from shared.retrieval import SearchQuery
from tests.retrieval.azure_search.azure_search import IMAGE_DIMENSIONS, search_service, searching
from tests.retrieval.retriever_contract import CONTEXT
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.hashed_embedder import HashedEmbedder, hashed_vector

TEXT, VECTORS, HYBRID = RetrievalMode.TEXT, RetrievalMode.VECTORS, RetrievalMode.HYBRID
BY_WORDS: dict[str, Json] = {"search": "glasses", "top": 3}
BY_VECTOR: Json = {"kind": "vector", "k": 50, "fields": "embedding", "vector": [*hashed_vector("glasses")]}
BY_IMAGE: Json = {
    "kind": "vector",
    "k": 50,
    "fields": "imageEmbedding",
    "vector": [*hashed_vector("glasses", IMAGE_DIMENSIONS)],
}
BY_THE_INDEX: Json = {"kind": "text", "k": 50, "fields": "embedding", "text": "glasses"}


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with search_service(images=True, vectorizer=True) as service:
        yield service


@pytest.mark.parametrize(
    ("query", "body"),
    [
        pytest.param(SearchQuery("glasses", TEXT), BY_WORDS, id="text"),
        pytest.param(
            SearchQuery("glasses", VECTORS, vector_fields=("embedding",)),
            {"top": 3, "vectorQueries": [BY_VECTOR]},
            id="vectors",
        ),
        pytest.param(
            SearchQuery("glasses", HYBRID, vector_fields=("embedding",)),
            BY_WORDS | {"vectorQueries": [BY_VECTOR]},
            id="hybrid",
        ),
        pytest.param(SearchQuery("glasses"), BY_WORDS | {"vectorQueries": [BY_VECTOR, BY_IMAGE]}, id="no mode"),
        pytest.param(SearchQuery("glasses", TEXT, top=7), BY_WORDS | {"top": 7}, id="top"),
        *(
            pytest.param(
                SearchQuery("glasses", HYBRID, vector_fields=asked),
                BY_WORDS | {"vectorQueries": [*queries]},
                id=asked[0],
            )
            for asked, queries in [
                (("imageEmbedding",), [BY_IMAGE]),
                (("textEmbeddingOnly",), [BY_VECTOR]),
                (("imageEmbeddingOnly",), [BY_IMAGE]),
                (("textAndImageEmbeddings",), [BY_VECTOR, BY_IMAGE]),
                (("both",), [BY_VECTOR, BY_IMAGE]),
                (("embedding", "imageEmbedding", "embedding"), [BY_VECTOR, BY_IMAGE]),
            ]
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, semantic_ranker=True), BY_WORDS | {"queryType": "semantic"}, id="ranker"
        ),
        pytest.param(
            SearchQuery("glasses", HYBRID, semantic_ranker=True, vector_fields=("embedding",)),
            BY_WORDS | {"queryType": "semantic", "vectorQueries": [BY_VECTOR]},
            id="ranker, hybrid",
        ),
        pytest.param(
            SearchQuery("glasses", VECTORS, semantic_ranker=True, vector_fields=("embedding",)),
            {"top": 3, "queryType": "semantic", "semanticQuery": "glasses", "vectorQueries": [BY_VECTOR]},
            id="ranker, vectors",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, semantic_ranker=True, semantic_captions=True),
            BY_WORDS | {"queryType": "semantic", "captions": "extractive|highlight-false"},
            id="captions",
        ),
        pytest.param(SearchQuery("glasses", TEXT, semantic_captions=True), BY_WORDS, id="captions, no ranker"),
        pytest.param(SearchQuery("C++ -glasses?", TEXT), BY_WORDS | {"search": r"C\+\+ \-glasses?"}, id="operators"),
        pytest.param(
            SearchQuery("-glasses", HYBRID, semantic_ranker=True, vector_fields=("embedding",)),
            {
                "search": r"\-glasses",
                "top": 3,
                "queryType": "semantic",
                "semanticQuery": "-glasses",
                "vectorQueries": [BY_VECTOR],
            },
            id="operators, ranker",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, minimum_score=1.0, minimum_reranker_score=2.0), BY_WORDS, id="minimum scores"
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, include_category="it's"),
            BY_WORDS | {"filter": "category eq 'it''s'"},
            id="include",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, exclude_category="office"),
            BY_WORDS | {"filter": "category ne 'office'"},
            id="exclude",
        ),
        pytest.param(
            SearchQuery("glasses", HYBRID, include_category="a", exclude_category="b", vector_fields=("embedding",)),
            BY_WORDS
            | {
                "filter": "category eq 'a' and category ne 'b'",
                "vectorQueries": [BY_VECTOR],
                "vectorFilterMode": "preFilter",
            },
            id="filter, hybrid",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, access=Access("anna")),
            BY_WORDS | {"filter": "(oids/any(g: search.in(g, 'anna', '|')))"},
            id="oid",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, access=Access(None, ("staff", "the board"))),
            BY_WORDS | {"filter": "(groups/any(g: search.in(g, 'staff|the board', '|')))"},
            id="groups",
        ),
        pytest.param(
            SearchQuery("glasses", TEXT, access=Access("anna", ("staff",), open_documents=True)),
            BY_WORDS
            | {
                "filter": "(oids/any(g: search.in(g, 'anna|all', '|')) or groups/any(g: search.in(g, 'staff|all', '|'))"
                " or (not oids/any() and not groups/any()))"
            },
            id="enforced",
        ),
    ],
)
async def test_each_override_asks_for_what_it_means_and_nothing_else(
    service: AISearchStandIn, query: SearchQuery, body: dict[str, Json]
) -> None:
    async with searching(service, HashedEmbedder(), HashedEmbedder(dims=IMAGE_DIMENSIONS)) as retriever:
        await retriever.search(query, CONTEXT)
    assert service.searches == [body]


async def test_a_vectorizer_gets_the_text_and_no_embedding_is_paid_for(service: AISearchStandIn) -> None:
    embedder = HashedEmbedder()
    async with searching(service, embedder, EMBEDDINGS="index") as retriever:
        result = await retriever.search(SearchQuery("glasses"), CONTEXT)
    assert service.searches == [BY_WORDS | {"vectorQueries": [BY_THE_INDEX]}]
    assert embedder.calls == []
    assert result.mode is HYBRID


async def test_a_semantic_configuration_is_named_where_one_is_set(service: AISearchStandIn) -> None:
    async with searching(service, AZURE_SEARCH_FIELDS="semanticConfiguration=default") as retriever:
        await retriever.search(SearchQuery("glasses", semantic_ranker=True), CONTEXT)
    assert service.searches[0]["semanticConfiguration"] == "default"
