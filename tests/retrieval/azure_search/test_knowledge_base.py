"""A knowledge base of Azure AI Search as a retriever."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from shared.chat_types import Access, Json, Passage, RequestContext, RetrievalMode
from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.outbound.asking import RetryPolicy
from shared.retrieval import Retriever, SearchQuery
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.fields import IndexFields
from shared.retrieval.azure_search.knowledge_base import AzureKnowledgeBase
from shared.retrieval.azure_search.reader import IndexReader
from shared.settings import Settings
from tests.retrieval.azure_search.azure_search import search_service
from tests.retrieval.retriever_contract import CONTEXT, LIBRARY, RetrieverContract
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.ai_search_knowledge import KnowledgeBase


@asynccontextmanager
async def knowledge_service(passages: Sequence[Passage] = LIBRARY) -> AsyncGenerator[AISearchStandIn]:
    """The service with a knowledge base over its index, as azure-search-openai-demo names its source."""
    async with search_service(passages, vectorizer=True) as service:
        service.knowledge_bases["base"] = KnowledgeBase(service.index_name, service.index_name)
        yield service


@asynccontextmanager
async def retrieving(service: AISearchStandIn, source: str = "documents") -> AsyncGenerator[AzureKnowledgeBase]:
    settings = Settings.read(service.settings | {"AZURE_SEARCH_KNOWLEDGE_BASE": "base"})
    connection = SearchConnection.from_settings(settings, RetryPolicy(first_backoff=0.01))
    base = AzureKnowledgeBase(source, connection, IndexReader(connection, IndexFields()))
    try:
        yield base
    finally:
        await base.aclose()


class TestKnowledgeBase(RetrieverContract):
    def score(self, found: Passage) -> float | None:
        return found.reranker_score

    def at_least(self, query: SearchQuery, score: float | None) -> SearchQuery:
        return replace(query, minimum_reranker_score=score)

    @pytest.fixture
    async def retriever(self) -> AsyncGenerator[Retriever]:
        async with knowledge_service() as service, retrieving(service) as base:
            yield base


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with knowledge_service() as service:
        yield service


@pytest.fixture
async def base(service: AISearchStandIn) -> AsyncGenerator[AzureKnowledgeBase]:
    async with retrieving(service) as base:
        yield base


SOURCE: dict[str, Json] = {
    "kind": "searchIndex",
    "knowledgeSourceName": "documents",
    "includeReferences": True,
    "includeReferenceSourceData": True,
}


def asked(**params: Json) -> dict[str, Json]:
    return {
        "intents": [{"type": "semantic", "search": "glasses"}],
        "includeActivity": True,
        "knowledgeSourceParams": [SOURCE | params],
    }


@pytest.mark.parametrize(
    ("query", "body"),
    [
        (SearchQuery("glasses"), asked()),
        (SearchQuery("glasses", minimum_reranker_score=1.5), asked(rerankerThreshold=1.5)),
        (SearchQuery("glasses", minimum_reranker_score=-7), asked(rerankerThreshold=0.0)),
        (SearchQuery("glasses", minimum_reranker_score=7), asked(rerankerThreshold=4.0)),
        (SearchQuery("glasses", include_category="it's"), asked(filterAddOn="category eq 'it''s'")),
        (
            SearchQuery("glasses", access=Access("anna", ("staff",))),
            asked(filterAddOn="(oids/any(g: search.in(g, 'anna', '|')) or groups/any(g: search.in(g, 'staff', '|')))"),
        ),
    ],
)
async def test_each_override_asks_for_what_it_means_and_nothing_else(
    service: AISearchStandIn, base: AzureKnowledgeBase, query: SearchQuery, body: dict[str, Json]
) -> None:
    await base.search(query, CONTEXT)
    assert service.bodies("retrieve") == [body]


async def test_without_a_filter_one_request_is_enough(service: AISearchStandIn, base: AzureKnowledgeBase) -> None:
    result = await base.search(SearchQuery("vision coverage"), CONTEXT)
    assert result.passages[0].id == "vision"
    assert [request.operation for request in service.requests] == ["retrieve"]


async def test_overrides_that_a_base_cannot_heed_are_told_as_ignored(base: AzureKnowledgeBase) -> None:
    query = SearchQuery(
        "vision",
        RetrievalMode.TEXT,
        semantic_ranker=True,
        semantic_captions=True,
        minimum_score=1.0,
        vector_fields=("embedding",),
    )
    result = await base.search(query, CONTEXT)
    assert result.ignored == ("retrieval_mode", "semantic_captions", "vector_fields", "minimum_search_score")
    assert (await base.search(SearchQuery("vision", RetrievalMode.HYBRID), CONTEXT)).ignored == ()


async def test_what_the_service_did_is_told_but_not_whose_groups(base: AzureKnowledgeBase) -> None:
    result = await base.search(SearchQuery("vision coverage"), CONTEXT)
    assert result.steps == [
        {"type": "searchIndex", "elapsed_ms": 1, "knowledge_source": "documents", "count": 5},
        {"type": "agenticReasoning", "elapsed_ms": None},
    ]
    filtered = await base.search(SearchQuery("vision", include_category="x", access=Access("anna")), CONTEXT)
    assert isinstance(filtered.steps, list)
    assert filtered.steps[0] == {"type": "searchIndex", "elapsed_ms": 1, "knowledge_source": "documents"}
    assert filtered.details == {
        "knowledge_base": "base",
        "query_type": "semantic",
        "use_semantic_ranker": True,
        "filter": "category eq 'x'",
        "use_security_filter": True,
    }


def elsewhere(key: str, **data: Json) -> bytes:
    """An answer with what another source of the base has, and a step that failed."""
    reference: Json = {
        "type": "searchIndex",
        "id": "0",
        "activitySource": 0,
        "docKey": key,
        "rerankerScore": 3.0,
        "sourceData": {"content": "Secret of another index.", **data},
    }
    failed: Json = {"type": "web", "id": 1, "knowledgeSourceName": "web", "error": {"message": "about vision"}}
    return json.dumps({"response": [], "activity": [failed], "references": [reference]}).encode()


@pytest.mark.parametrize(
    "answer",
    [
        elsewhere("other", sourcepage="other.md", sourcefile="other.md"),
        elsewhere("other", sourcepage="dental.md", sourcefile="dental.md", oids=["anna"]),
        elsewhere("vision", sourcepage="vision.md", sourcefile="vision.md", oids=["anna"]),
        elsewhere("vision", sourcepage="dental.md", sourcefile="dental.md", oids=["anna"]),
        elsewhere("dental", oids=["anna"]),
    ],
)
async def test_under_a_security_filter_nothing_is_shown_that_the_index_does_not_show(
    service: AISearchStandIn, base: AzureKnowledgeBase, answer: bytes
) -> None:
    service.reply(answer, on="retrieve")
    result = await base.search(SearchQuery("vision", access=Access("anna")), CONTEXT)
    assert result.passages == ()


async def test_under_a_security_filter_the_text_is_the_indexs(
    service: AISearchStandIn, base: AzureKnowledgeBase
) -> None:
    service.reply(elsewhere("dental", sourcepage="dental.md"), on="retrieve")
    result = await base.search(SearchQuery("vision", access=Access("anna")), CONTEXT)
    assert [found.content for found in result.passages] == [LIBRARY[1].content]
    assert result.passages[0].reranker_score == 3.0


async def test_a_source_that_failed_is_told_without_the_services_words(
    service: AISearchStandIn, base: AzureKnowledgeBase
) -> None:
    service.reply(elsewhere("other", sourcepage="other.md"), on="retrieve")
    result = await base.search(SearchQuery("vision"), CONTEXT)
    assert [found.sourcepage for found in result.passages] == ["other.md"]
    assert result.steps == [{"type": "web", "elapsed_ms": None, "knowledge_source": "web", "failed": True}]


async def test_what_another_source_ranks_lower_is_left_out_too(
    service: AISearchStandIn, base: AzureKnowledgeBase
) -> None:
    for minimum, found in ((3.0, 1), (3.1, 0)):
        service.reply(elsewhere("other", sourcepage="other.md"), on="retrieve")
        result = await base.search(SearchQuery("vision", minimum_reranker_score=minimum), CONTEXT)
        assert len(result.passages) == found


async def test_references_without_the_fields_are_left_out_with_a_note(
    service: AISearchStandIn, base: AzureKnowledgeBase
) -> None:
    service.knowledge_bases["base"] = KnowledgeBase("documents", "documents", ("id", "sourcepage"))
    result = await base.search(SearchQuery("vision coverage"), CONTEXT)
    assert result.passages == ()
    assert result.note
    assert "source data fields of the knowledge source" in result.note


async def test_nobody_is_not_even_searched_for(service: AISearchStandIn, base: AzureKnowledgeBase) -> None:
    assert (await base.search(SearchQuery("vision", access=Access(None, ())), CONTEXT)).passages == ()
    assert service.requests == []


type Spoil = Callable[[AISearchStandIn], object]

FAULTS: list[tuple[Spoil, type[SwitchboardError], str]] = [
    (lambda service: service.fail(429, times=3, headers={"Retry-After": "0"}), RateLimited, "busy"),
    (lambda service: service.fail(503, times=3), Unavailable, "too much to do"),
    (lambda service: service.fail(403), NotConfigured, "AZURE_SEARCH_API_KEY"),
    (lambda service: service.knowledge_bases.clear(), NotConfigured, "AZURE_SEARCH_KNOWLEDGE_BASE"),
    (lambda service: service.cut_off(times=3), Unavailable, "broke off"),
    (lambda service: service.reply(b"[]"), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"references": 7}'), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"references": [7]}'), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"references": [{}], "activity": [7]}'), Unavailable, "no answer of"),
    (lambda service: service.reply(b"<html>", content_type="text/html"), Unavailable, "no answer of"),
]


@pytest.mark.parametrize(("spoil", "kind", "sentence"), FAULTS)
async def test_each_fault_has_its_error(
    service: AISearchStandIn,
    base: AzureKnowledgeBase,
    spoil: Spoil,
    kind: type[SwitchboardError],
    sentence: str,
) -> None:
    spoil(service)
    with pytest.raises(kind, match=sentence):
        await base.search(SearchQuery("vision"), CONTEXT)


async def test_a_source_that_the_base_does_not_have_is_told(service: AISearchStandIn) -> None:
    async with retrieving(service, source="other") as base:
        with pytest.raises(NotConfigured, match="the source in AZURE_SEARCH_KNOWLEDGE_BASE"):
            await base.search(SearchQuery("vision"), CONTEXT)


async def test_an_answer_of_nothing_is_nothing(service: AISearchStandIn, base: AzureKnowledgeBase) -> None:
    service.reply(b"{}", on="retrieve")
    assert (await base.search(SearchQuery("vision"), CONTEXT)).passages == ()


async def test_a_base_that_does_not_answer_is_too_slow(service: AISearchStandIn, base: AzureKnowledgeBase) -> None:
    service.hang()
    with pytest.raises(TooSlow):
        await base.search(SearchQuery("vision"), RequestContext("test", asyncio.get_running_loop().time() + 0.2))


async def test_the_health_names_the_base(base: AzureKnowledgeBase) -> None:
    health = await base.check()
    assert health.ok
    assert health.facts == {"index": "documents", "passages": 5, "knowledge_base": "base"}
