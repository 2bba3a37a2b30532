"""Azure AI Search as a retriever, when the service is at fault or refuses."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from shared.chat_types import Access, RequestContext, RetrievalMode
from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.retrieval import SearchQuery
from shared.retrieval.azure_search.retriever import AzureSearchRetriever
from tests.clock import Clock
from tests.retrieval.azure_search.azure_search import search_service, searching
from tests.retrieval.retriever_contract import CONTEXT
from tests.stand_ins.ai_search import AISearchStandIn
from tests.stand_ins.hashed_embedder import HashedEmbedder

QUERY = SearchQuery("vision coverage")

type Spoil = Callable[[AISearchStandIn], object]


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with search_service() as service:
        yield service


@pytest.fixture
async def retriever(service: AISearchStandIn) -> AsyncGenerator[AzureSearchRetriever]:
    async with searching(service) as retriever:
        yield retriever


def within(seconds: float) -> RequestContext:
    return RequestContext("test", asyncio.get_running_loop().time() + seconds)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_asked_again(
    service: AISearchStandIn, retriever: AzureSearchRetriever, status: int
) -> None:
    service.fail(status, times=2)
    assert (await retriever.search(QUERY, CONTEXT)).passages[0].id == "vision"
    assert len(service.requests) == 3


async def test_a_service_that_stays_busy_is_told_with_the_time_to_wait(
    service: AISearchStandIn, retriever: AzureSearchRetriever
) -> None:
    service.fail(429, headers={"Retry-After": "33"})
    with pytest.raises(RateLimited) as told:
        await retriever.search(QUERY, CONTEXT)
    assert told.value.retry_after == 33
    assert len(service.requests) == 1


async def test_a_wait_that_ends_after_the_deadline_is_not_begun(
    service: AISearchStandIn, retriever: AzureSearchRetriever
) -> None:
    service.fail(429, headers={"Retry-After": "15"})
    with pytest.raises(RateLimited, match="15 seconds"):
        await retriever.search(QUERY, within(10))


async def test_a_service_that_does_not_answer_is_too_slow(
    service: AISearchStandIn, retriever: AzureSearchRetriever, clock: Clock
) -> None:
    service.hang()
    searching = asyncio.create_task(retriever.search(QUERY, within(30)))
    hanging = await service.request_number(1)
    clock.forward(30)
    with pytest.raises(TooSlow):
        await searching
    await hanging.disconnected.wait()


async def test_a_search_that_is_given_up_ends_the_request(
    service: AISearchStandIn, retriever: AzureSearchRetriever
) -> None:
    service.hang()
    search = asyncio.create_task(retriever.search(QUERY, CONTEXT))
    received = await service.request_number(1)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    async with asyncio.timeout(60):
        await received.disconnected.wait()


FAULTS: list[tuple[Spoil, type[SwitchboardError], str]] = [
    (lambda service: service.cut_off(times=3), Unavailable, "broke off"),
    (lambda service: service.hang_up(times=3), Unavailable, "broke off|cannot be reached"),
    (lambda service: service.fail(503, times=3), Unavailable, "too much to do"),
    (lambda service: service.fail(500, times=3), Unavailable, "a fault of its own"),
    (lambda service: service.fail(401), NotConfigured, "AZURE_SEARCH_API_KEY"),
    (lambda service: service.fail(403), NotConfigured, "AZURE_SEARCH_API_KEY"),
    (lambda service: service.indexes.clear(), NotConfigured, "no index 'documents' .AZURE_SEARCH_INDEX."),
    (lambda service: service.fail(302, headers={"Location": "https://example.com"}), Unavailable, "no answer of"),
    (lambda service: service.reply(b"<html>", content_type="text/html"), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"value": ['), Unavailable, "no answer of"),
    (lambda service: service.reply(b"[]"), Unavailable, "no answer of"),
    (lambda service: service.reply(b"7"), Unavailable, "no answer of"),
    (lambda service: service.reply(b"{}"), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"value": 7}'), Unavailable, "no answer of"),
    (lambda service: service.reply(b'{"value": [7]}'), Unavailable, "no answer of"),
    (lambda service: service.reply(b""), Unavailable, "no answer of"),
]


@pytest.mark.parametrize(("spoil", "kind", "sentence"), FAULTS)
async def test_each_fault_has_its_error_which_quotes_nobody(
    service: AISearchStandIn,
    retriever: AzureSearchRetriever,
    caplog: pytest.LogCaptureFixture,
    spoil: Spoil,
    kind: type[SwitchboardError],
    sentence: str,
) -> None:
    spoil(service)
    with pytest.raises(kind, match=sentence) as told:
        await retriever.search(QUERY, CONTEXT)
    said = told.value.message + caplog.text
    assert not [word for word in ("vision", "scripted", service.admin_key) if word in said]


async def test_vectors_of_another_length_than_the_indexs_are_told(service: AISearchStandIn) -> None:
    async with searching(service, HashedEmbedder(dims=32)) as retriever:
        with pytest.raises(NotConfigured, match="embedding model"):
            await retriever.search(SearchQuery("vision", RetrievalMode.HYBRID), CONTEXT)


async def test_a_field_that_the_index_does_not_have_is_told(service: AISearchStandIn) -> None:
    async with searching(service, AZURE_SEARCH_FIELDS="category=kind") as retriever:
        with pytest.raises(NotConfigured, match="AZURE_SEARCH_FIELDS"):
            await retriever.search(SearchQuery("vision", include_category="x"), CONTEXT)


async def test_a_semantic_configuration_that_there_is_not_is_told(service: AISearchStandIn) -> None:
    async with searching(service, AZURE_SEARCH_FIELDS="semanticConfiguration=other") as retriever:
        with pytest.raises(NotConfigured, match=r"AZURE_SEARCH_FIELDS names.*a semantic configuration"):
            await retriever.search(SearchQuery("vision", semantic_ranker=True), CONTEXT)


async def test_who_may_see_a_document_is_not_guessed_from_a_fault(
    service: AISearchStandIn, retriever: AzureSearchRetriever
) -> None:
    service.fail(503, times=3)
    with pytest.raises(Unavailable):
        await retriever.may_see("dental.md", Access("anna"))


async def test_the_health_counts_the_passages_once_for_all_who_ask(
    service: AISearchStandIn, retriever: AzureSearchRetriever
) -> None:
    health = await asyncio.gather(*(retriever.check() for _ in range(5)))
    assert (health[0].kind, health[0].ok) == ("azure-ai-search", True)
    assert health[0].facts == {"index": "documents", "passages": 5}
    assert [request.operation for request in service.requests] == ["count"]


ILL: list[tuple[Spoil, str]] = [
    (lambda service: service.index.documents.clear(), "make index"),
    (lambda service: service.indexes.clear(), "AZURE_SEARCH_INDEX"),
    (lambda service: service.fail(403), "AZURE_SEARCH_API_KEY"),
    (lambda service: service.reply(b"[]"), "no answer of"),
]


@pytest.mark.parametrize(("spoil", "detail"), ILL)
async def test_the_health_tells_what_is_wrong(
    service: AISearchStandIn,
    retriever: AzureSearchRetriever,
    spoil: Spoil,
    detail: str,
) -> None:
    spoil(service)
    health = await retriever.check()
    assert not health.ok
    assert detail in health.detail
