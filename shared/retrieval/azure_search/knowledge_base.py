"""A knowledge base of Azure AI Search as a `Retriever`: agentic retrieval. Imports the SDK: import it late.

The service searches all knowledge sources of the base and ranks the results by meaning. It applies a filter to one
source only, the index. So with a filter, all results are looked up in the index under this filter, and only those that
pass are returned.

Source: Search Service REST API 2026-04-01, 'Knowledge Retrieval - Retrieve'. Requests contain intents; the planning of
searches by a model is in preview.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient
from azure.search.documents.knowledgebases.models import (
    KnowledgeBaseRetrievalRequest,
    KnowledgeRetrievalSemanticIntent,
    SearchIndexKnowledgeSourceParams,
)

from shared.chat_types import Access, Extent, Json, PartHealth, Passage, RequestContext, RetrievalMode
from shared.retrieval import SearchQuery, SearchResult, overrides_in
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.fields import (
    NOTHING,
    IndexFields,
    all_of,
    category_filter,
    pages_filter,
    query_filter,
)
from shared.retrieval.azure_search.reader import IndexReader, passage_of, readable
from shared.settings import Settings

_LONGEST_TEXT = 1_000
"""Characters of a question that are searched for."""
_MAX_RERANKER_SCORE = 4.0
"""Highest score of the semantic ranker."""
_MOST_LOOKED_UP = 1_000
"""Passages that one request looks up in the index."""
_ADVICE = "check `content` in AZURE_SEARCH_FIELDS and the source data fields of the knowledge source."


class _Reference(msgspec.Struct, rename="camel"):
    doc_key: str | None = None
    reranker_score: float | None = None
    source_data: dict[str, object] | None = None


class _Activity(msgspec.Struct, rename="camel"):
    type: str
    knowledge_source_name: str | None = None
    elapsed_ms: int | None = None
    count: int | None = None
    error: object = None


class _Answer(msgspec.Struct):
    """The parts of the service's answer that are used."""

    references: list[_Reference] | None = None
    activity: list[_Activity] | None = None


class AzureKnowledgeBase:
    """A `Retriever` over a knowledge base.

    Args:
        source: Name of the knowledge source that is the index.
        connection: Connection to the service, with the base's name; closed with the reader.
        reader: Reads the index; closed by `aclose`.
    """

    def __init__(self, source: str, connection: SearchConnection, reader: IndexReader) -> None:
        self._source = source
        self._connection = connection
        self._reader = reader

    @classmethod
    def from_settings(cls, settings: Settings) -> "AzureKnowledgeBase":
        """Make a retriever for the knowledge base that the settings name. They were checked to be complete."""
        connection = SearchConnection.from_settings(settings)
        reader = IndexReader(connection, IndexFields.called(settings.azure_search_fields))
        return cls(settings.knowledge_base[1], connection, reader)

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """Find the passages that best match.

        Raises:
            NotConfigured: the service refuses the app, or the base or index does not support the request.
            Unavailable, RateLimited: the service failed.
            TooSlow: the deadline passed.
        """
        where = query_filter(query, self._reader.fields)
        if where == NOTHING or not query.text.strip():
            return SearchResult((), RetrievalMode.HYBRID)
        answer = await self._retrieve(self._request(query, where), context.deadline)
        found = _passages(answer, self._reader.fields)
        if where and found:
            found = await self._filtered(found, where, context.deadline)
        return self._result(query, answer, found)

    async def may_see(self, document: str, access: Access) -> bool:
        """Check whether `access` allows a passage of this document; see `IndexReader.may_see`."""
        return await self._reader.may_see(document, access)

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        """Count the passages of a file; see `IndexReader.extent`."""
        return await self._reader.extent(sourcefile, access)

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """Read the passages of a page or of a file; see `IndexReader.read`."""
        return await self._reader.read(document, context.access, context.deadline)

    async def check(self) -> PartHealth:
        """Check that the index can be searched and is not empty. The base is not asked, since that costs more."""
        health = await self._reader.check()
        return replace(health, facts={**health.facts, "knowledge_base": self._connection.knowledge_base})

    async def aclose(self) -> None:
        """Close the connections to the service."""
        await self._reader.aclose()

    def _request(self, query: SearchQuery, where: str | None) -> KnowledgeBaseRetrievalRequest:
        minimum = query.minimum_reranker_score
        return KnowledgeBaseRetrievalRequest(
            intents=[KnowledgeRetrievalSemanticIntent(search=query.text[:_LONGEST_TEXT])],
            include_activity=True,
            knowledge_source_params=[
                SearchIndexKnowledgeSourceParams(
                    knowledge_source_name=self._source,
                    include_references=True,
                    include_reference_source_data=True,
                    filter_add_on=where,
                    reranker_threshold=None if minimum is None else min(max(minimum, 0.0), _MAX_RERANKER_SCORE),
                )
            ],
        )

    async def _retrieve(self, request: KnowledgeBaseRetrievalRequest, deadline: float) -> _Answer:
        async def retrieve(client: KnowledgeBaseRetrievalClient) -> _Answer:
            answer = await client.retrieve(request)
            try:
                return msgspec.convert(answer.as_dict(), _Answer)
            except msgspec.ValidationError as exc:
                raise ValueError("an answer of another shape") from exc  # as the SDK does in other calls

        return await self._connection.ask_knowledge_base(retrieve, deadline=deadline)

    async def _filtered(self, found: Sequence[Passage], where: str, deadline: float) -> list[Passage]:
        """Look the passages up in the index, and keep those that pass the filter."""
        pages = pages_filter({passage.sourcepage for passage in found}, self._reader.fields)
        arguments = {"filter": all_of(pages, where), "top": _MOST_LOOKED_UP}
        there = {passage.id: passage for passage in await self._reader.find(arguments, deadline)}
        return [
            replace(there[passage.id], score=None, reranker_score=passage.reranker_score)
            for passage in found
            if passage.id in there
        ]

    def _result(self, query: SearchQuery, answer: _Answer, found: Sequence[Passage]) -> SearchResult:
        passages, note = readable(found, _ADVICE)
        minimum = query.minimum_reranker_score
        return SearchResult(
            tuple(p for p in passages if minimum is None or (p.reranker_score or 0) >= minimum)[: query.top],
            RetrievalMode.HYBRID,
            note,
            ignored=_ignored(query),
            steps=[_step(one, counts=query.access is None) for one in answer.activity or ()],
            details={
                "knowledge_base": self._connection.knowledge_base,
                "query_type": "semantic",
                "use_semantic_ranker": True,
                "filter": category_filter(query.include_category, query.exclude_category, self._reader.fields),
                "use_security_filter": query.access is not None,
            },
        )


def _passages(answer: _Answer, fields: IndexFields) -> list[Passage]:
    """The passages of an answer, best first, with the fields that the knowledge source returns."""
    found = [
        passage_of(
            {**(one.source_data or {}), fields.id: one.doc_key, "@search.reranker_score": one.reranker_score},
            fields,
            place,
        )
        for place, one in enumerate(answer.references or ())
    ]
    return sorted(found, key=lambda passage: passage.reranker_score or 0, reverse=True)


def _step(activity: _Activity, *, counts: bool) -> Json:
    """Describe a step of the service, without its filter, which names the caller's groups, and its error messages.

    Args:
        activity: The step in the service's answer.
        counts: Whether to show the number of results; it may count passages that the caller may not see.
    """
    step: dict[str, Json] = {"type": activity.type, "elapsed_ms": activity.elapsed_ms}
    if activity.knowledge_source_name:
        step["knowledge_source"] = activity.knowledge_source_name
    if counts and activity.count is not None:
        step["count"] = activity.count
    if activity.error is not None:
        step["failed"] = True
    return step


def _ignored(query: SearchQuery) -> tuple[str, ...]:
    mode = () if query.mode is RetrievalMode.HYBRID else overrides_in(query, "retrieval_mode")
    return mode + overrides_in(query, "semantic_captions", "vector_fields", "minimum_search_score")
