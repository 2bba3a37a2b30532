"""Azure AI Search as a `Retriever`. Imports `azure.search.documents`: import it late.

The scale of `minimum_score` depends on the kind of search: BM25 (0 and more) for text, 0.333 to 1 for vectors by
cosine, and the fused score for hybrid: about 1/60 for each query that ranks a passage first.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import replace
from typing import Any

import msgspec
from azure.search.documents.models import VectorizableTextQuery, VectorizedQuery, VectorQuery

from shared.chat_types import Json, Passage, RequestContext, RetrievalMode
from shared.errors import BadRequest, TooSlow
from shared.outbound.asking import all_answers
from shared.retrieval import LONGEST_TO_EMBED, Embedder, SearchQuery, SearchResult, overrides_in
from shared.retrieval.azure_search.connection import SearchConnection
from shared.retrieval.azure_search.fields import NOTHING, IndexFields, category_filter, query_filter
from shared.retrieval.azure_search.reader import IndexReader, readable, with_captions
from shared.settings import Settings
from shared.words.terms import ends_of

_FIELDS_BY_NAME = {
    "embedding": ("embedding",),
    "imageEmbedding": ("imageEmbedding",),
    "textEmbeddingOnly": ("embedding",),
    "imageEmbeddingOnly": ("imageEmbedding",),
    "textAndImageEmbeddings": ("embedding", "imageEmbedding"),
    "both": ("embedding", "imageEmbedding"),
}
"""Values of a request's `vector_fields`: names of fields, and the names that azure-search-openai-demo uses."""

_HOW_TO_ENABLE = {
    "embedding": "Searching by the meaning of a text needs an embedding model: set OPENAI_EMBEDDING_MODEL or "
    "AZURE_OPENAI_EMBEDDING_DEPLOYMENT, or EMBEDDINGS=index where the index has a vectorizer.",
    "imageEmbedding": "Searching images needs AZURE_VISION_ENDPOINT.",
}
"""By field: what to configure so that it can be searched."""


class ChosenFields(msgspec.Struct, frozen=True):
    """The vector fields that a search uses."""

    embedders: Mapping[str, tuple[str, Embedder | None]]
    """By the fields' default names: the index's name, and what makes vectors of questions; None: the service does.
    Empty if none can be searched."""
    missing: str
    """What to configure for the requested fields that cannot be searched; empty if all can be."""

    async def make_queries(self, text: str, nearest: int) -> list[VectorQuery]:
        """Make a query for each of the fields, concurrently.

        Args:
            text: The question.
            nearest: Number of passages that each query finds.

        Raises:
            RateLimited, Unavailable, TooSlow: the embedding service failed.
        """

        async def query(field: str, embedder: Embedder | None) -> VectorQuery:
            if embedder is None:
                return VectorizableTextQuery(text=text, k_nearest_neighbors=nearest, fields=field)
            vectors = await embedder.embed([text], questions=True)
            return VectorizedQuery(vector=vectors[0], k_nearest_neighbors=nearest, fields=field)

        text = text[:LONGEST_TO_EMBED]
        return await all_answers(query(*one) for one in self.embedders.values())


_LONGEST_TEXT = 1_000
"""Characters of a question that are searched for. The service accepts 1,024 words; one character can be a word."""
_NEAREST = 50
"""Passages that a vector query finds at least: the semantic ranker reads 50, and fusion gains little from more."""
_ONLY_WITH_RANKER = ("semantic_captions", "minimum_reranker_score")
"""Overrides without effect unless the semantic ranker is on."""
_OPERATOR = re.compile(r"""[+|"()'\\]|(?<!\S)-|\*(?!\S)""")
"""Operators of the simple query syntax. `-` is one only at the beginning of a word, `*` only at its end."""


class _Plan(msgspec.Struct, frozen=True):
    """How a query will be searched."""

    mode: RetrievalMode
    """The kind of search that is made."""
    vectors: ChosenFields | None = None
    """The vector fields to search; None: search by text only."""
    note: str | None = None
    """Why the search differs from the request; None if it does not."""


class AzureSearchRetriever(IndexReader):
    """A `Retriever` over an index of Azure AI Search.

    Args:
        connection: Connection to the service and its index; closed by `aclose`.
        settings: Name the fields of the index, and say whether the service makes the vectors of questions for texts.
        embedder: Makes these vectors else; the caller closes it. None: the app makes none.
        image_embedder: Makes vectors of questions in the space of the images' vectors; the caller closes it. None:
            images are not searched.
    """

    def __init__(
        self,
        connection: SearchConnection,
        settings: Settings,
        embedder: Embedder | None,
        image_embedder: Embedder | None,
    ) -> None:
        super().__init__(connection, IndexFields.called(settings.azure_search_fields))
        self._embedders: dict[str, tuple[str, Embedder | None]] = {}
        """Of each vector field that can be searched, as `ChosenFields` has it."""
        if embedder or settings.embeddings == "index":
            by_app = None if settings.embeddings == "index" else embedder
            self._embedders["embedding"] = self.fields.embedding, by_app
        if image_embedder:
            self._embedders["imageEmbedding"] = self.fields.image_embedding, image_embedder

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        plan = self._plan(query)
        where = query_filter(query, self.fields)
        if where == NOTHING or not query.text.strip():
            return SearchResult((), plan.mode, plan.note)
        vectors = await self._vectors_of(query, plan.vectors, context.deadline) if plan.vectors else ()
        found = await self.find(self._arguments(query, plan, where, vectors), context.deadline)
        return self._result(query, plan, found)

    def _plan(self, query: SearchQuery) -> _Plan:
        if query.mode is RetrievalMode.TEXT:
            return _Plan(RetrievalMode.TEXT)
        chosen = self._chosen(query.vector_fields)
        if query.mode is RetrievalMode.VECTORS and query.any_vector_field and not chosen.embedders:
            chosen = replace(self._chosen(()), missing=chosen.missing)
        if chosen.embedders:
            note = f"Not all of the vector fields were searched. {chosen.missing}" if chosen.missing else None
            return _Plan(query.mode or RetrievalMode.HYBRID, chosen, note)
        if query.mode is RetrievalMode.VECTORS:
            raise BadRequest(f"{chosen.missing} Or ask for retrieval_mode `text`.")
        asked = query.mode or query.vector_fields
        return _Plan(RetrievalMode.TEXT, note=f"Searched by text only. {chosen.missing}" if asked else None)

    def _chosen(self, asked: Iterable[str]) -> ChosenFields:
        """Choose the vector fields to search: those of these values of `vector_fields`, or all that can be.

        Raises BadRequest for an unknown value.
        """
        wanted: dict[str, None] = {}
        for name in asked:
            if name not in _FIELDS_BY_NAME:
                raise BadRequest(f"vector_fields: should be one or more of {', '.join(_FIELDS_BY_NAME)}.")
            wanted |= dict.fromkeys(_FIELDS_BY_NAME[name])
        chosen = {name: one for name, one in self._embedders.items() if name in (wanted or self._embedders)}
        missing = [_HOW_TO_ENABLE[name] for name in wanted or ["embedding"] if name not in chosen]
        return ChosenFields(chosen, " ".join(missing))

    async def _vectors_of(self, query: SearchQuery, fields: ChosenFields, deadline: float) -> Sequence[VectorQuery]:
        try:
            async with asyncio.timeout_at(deadline):
                return await fields.make_queries(query.text, max(query.top, _NEAREST))
        except TimeoutError as exc:
            raise TooSlow("The vectors of the question took too long. Try again, or search by text.") from exc

    def _arguments(
        self, query: SearchQuery, plan: _Plan, where: str | None, vectors: Sequence[VectorQuery]
    ) -> dict[str, Any]:
        text = ends_of(query.text, _LONGEST_TEXT)
        arguments: dict[str, Any] = {"top": query.top}
        if plan.mode is not RetrievalMode.VECTORS:
            arguments["search_text"] = as_words(text)
        if vectors:
            arguments["vector_queries"] = vectors
        if where:
            arguments["filter"] = where
        if where and vectors:
            arguments["vector_filter_mode"] = "preFilter"  # old indexes filter after the search by default
        if query.semantic_ranker:
            arguments |= {
                "query_type": "semantic",
                "semantic_configuration_name": self.fields.semantic_configuration or None,
            }
            if arguments.get("search_text") != text:  # the ranker uses `search_text` by default
                arguments["semantic_query"] = text
            if query.semantic_captions:
                arguments["query_caption"] = "extractive|highlight-false"
        return arguments

    def _result(self, query: SearchQuery, plan: _Plan, found: Sequence[Passage]) -> SearchResult:
        passages, missing = readable(found, "check `content` in AZURE_SEARCH_FIELDS.")
        return SearchResult(
            tuple(with_captions(passage) for passage in passages if _scores_enough(passage, query)),
            plan.mode,
            " ".join(note for note in (plan.note, missing, _unranked(query, found)) if note) or None,
            ignored=() if query.semantic_ranker else overrides_in(query, *_ONLY_WITH_RANKER),
            details={
                "query_type": "semantic" if query.semantic_ranker else "simple",
                "vector_fields": list[Json](plan.vectors.embedders) if plan.vectors else [],
                "filter": category_filter(query.include_category, query.exclude_category, self.fields),
                "use_security_filter": query.access is not None and not query.access.all_shared,
            },
        )


def as_words(text: str) -> str:
    """Escape the operators in a question: unescaped, `-allowed` would find passages without that word.

    Source: Azure AI Search, 'Simple query syntax', 'Escaping search operators'.
    """
    return _OPERATOR.sub(r"\\\g<0>", text)


def _scores_enough(passage: Passage, query: SearchQuery) -> bool:
    """Whether each score that the passage has reaches the query's minimum."""
    limits = ((passage.score, query.minimum_score), (passage.reranker_score, query.minimum_reranker_score))
    return all(score is None or minimum is None or score >= minimum for score, minimum in limits)


def _unranked(query: SearchQuery, found: Sequence[Passage]) -> str | None:
    """Make a note if the service answered without semantic ranking, which it does with status 206."""
    if not (query.semantic_ranker and found) or any(passage.reranker_score is not None for passage in found):
        return None
    return "The semantic ranker was busy or too slow: what was found is in the order of the search."
