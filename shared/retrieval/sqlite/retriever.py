"""Searches the built-in index: by text (BM25), by vectors if there is an embedding model, or by both (hybrid).

The scale of `minimum_score` depends on the kind of search: BM25 with the best sentence (0 and more)
for text, the cosine for vectors, and the fused score for hybrid, at most 2/61 (0.033).
"""

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import replace
from pathlib import Path
from types import MappingProxyType

import apsw
import msgspec

from shared.chat_types import Access, Extent, Json, PartHealth, Passage, RequestContext, RetrievalMode
from shared.errors import BadRequest, NotConfigured, SwitchboardError, TooSlow
from shared.retrieval import LONGEST_TO_EMBED, Embedder, SearchQuery, SearchResult, overrides_in, parts_of, whole
from shared.retrieval.sqlite import search
from shared.retrieval.sqlite.file import EmbeddingInfo, SqliteReaders, embedding_info

_FUSED_DEPTH = 50
"""Passages of each ranking that are fused, or more if a query asks for more. Lower ranks change little."""
_ONLY_IN_AZURE = ("semantic_ranker", "semantic_captions", "vector_fields", "minimum_reranker_score")
"""Overrides that only Azure AI Search supports."""
_VECTOR_FIELD_NAMES = {"embedding", "textEmbeddingOnly"}
"""Names in requests for the only vector field."""

_DETAIL = "Full-text and vector search in a SQLite file. For Azure set AZURE_SEARCH_ENDPOINT and AZURE_SEARCH_INDEX."
_NO_EMBEDDER = (
    "Vector search needs an embedding model. Set EMBEDDINGS=local, OPENAI_EMBEDDING_MODEL or "
    "AZURE_OPENAI_EMBEDDING_DEPLOYMENT and run `make index`, or ask for retrieval_mode `text`."
)
_NO_VECTORS = (
    "The index has no vectors, as it was made without an embedding model. Run `make index`, or ask for retrieval_mode "
    "`text`."
)

_FOREIGN = (
    "Searched by words alone, though the question is in another language than the documents. Vectors find across "
    "languages: set EMBEDDINGS=local or an embedding model, and run `make index`."
)
_HELPS = " Questions in another language or other words than the documents' take vectors: set EMBEDDINGS=local."


class SqliteRetriever:
    """A `Retriever` over the file of `SqliteIndex`. Another process may write the file at the same time.

    Args:
        path: The file; it need not exist yet.
        embedder: Makes the vectors of questions; the caller closes it. None: text search only.
    """

    def __init__(self, path: Path, embedder: Embedder | None) -> None:
        self._readers = SqliteReaders(path)
        self.aclose = self._readers.aclose
        self._embedder = embedder

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """See `Retriever.search`."""
        try:
            async with asyncio.timeout_at(context.deadline):
                others = replace(
                    query, vector_fields=tuple(name for name in query.vector_fields if name not in _VECTOR_FIELD_NAMES)
                )
                return replace(await self._search(query), ignored=overrides_in(others, *_ONLY_IN_AZURE))
        except TimeoutError as exc:
            raise TooSlow("The search took too long. Try again, or ask for less.") from exc

    async def may_see(self, document: str, access: Access) -> bool:
        """See `Retriever.may_see`; only names of files count."""
        return bool(await self._readers.run(lambda db: search.is_visible(db, document, access)))

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        """See `Retriever.extent`."""
        return await self._readers.run(lambda db: search.extent_of(db, sourcefile, access))

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """See `Retriever.read`; none if there is no index yet."""
        try:
            async with asyncio.timeout_at(context.deadline):
                found = await self._readers.run(lambda db: search.passages_of(db, document, context.access))
        except TimeoutError as exc:
            raise TooSlow("Reading the document took too long. Try again.") from exc
        return whole(found or (), document)

    async def check(self) -> PartHealth:
        """Check that the index is not empty, and that its vectors are of the configured model."""
        try:
            documents, passages, embedding = await self._readers.run(_contents) or (0, 0, None)
            facts: dict[str, Json] = {"documents": documents, "passages": passages, "vectors": bool(embedding)}
            if not passages:
                return PartHealth("embedded", False, "There are no documents yet: run `make index DOCS=folder`.", facts)
            if self._embedder and not embedding:
                return PartHealth("embedded", False, f"Searched by text only. {_NO_VECTORS}", facts, needed=False)
            if self._embedder and embedding:
                _expect_model(embedding, self._embedder.model)
            return PartHealth("embedded", True, _DETAIL + ("" if self._embedder else _HELPS), facts)
        except SwitchboardError as exc:
            return PartHealth("embedded", False, exc.message)

    async def _search(self, query: SearchQuery) -> SearchResult:
        mode = query.mode or (RetrievalMode.HYBRID if self._embedder else RetrievalMode.TEXT)
        if mode is RetrievalMode.TEXT:
            return await self._search_text(query)
        if self._embedder is None:
            return await self._search_without_vectors(query, mode, _NO_EMBEDDER)
        _, passages, made_with = await self._readers.run(_contents) or (0, 0, None)
        if not passages:
            return SearchResult((), mode)
        if made_with is None:
            return await self._search_without_vectors(query, mode, _NO_VECTORS)
        _expect_model(made_with, self._embedder.model)
        return await self._search_with_vectors(query, mode, self._embedder, made_with)

    async def _search_text(self, query: SearchQuery, note: str | None = None) -> SearchResult:
        def read(db: apsw.Connection) -> SearchResult:
            found = search.rank_by_text(db, query, query.top)
            passages = _best(db, found.ranking, query)
            why = note or (_FOREIGN if found.foreign else None)
            titles = search.titles_in(db, query.access)
            return SearchResult(
                passages, RetrievalMode.TEXT, why, (), found.rarities, titles, found.foreign, found.languages
            )

        return await self._readers.run(read) or SearchResult((), RetrievalMode.TEXT, note)

    async def _search_without_vectors(self, query: SearchQuery, mode: RetrievalMode, why: str) -> SearchResult:
        if mode is RetrievalMode.VECTORS:
            raise BadRequest(why)
        return await self._search_text(query, note=f"Searched by text only. {why}")

    async def _search_with_vectors(
        self, query: SearchQuery, mode: RetrievalMode, embedder: Embedder, made_with: EmbeddingInfo
    ) -> SearchResult:
        if not query.text.strip():  # embedding services refuse an empty text
            return SearchResult((), mode)
        depth, texts = query.top, search.RankedByText()
        if mode is RetrievalMode.HYBRID:
            depth = max(query.top, _FUSED_DEPTH)
            vector, found = await asyncio.gather(
                _embed(query.text, embedder, made_with),
                self._readers.run(lambda db: search.rank_by_text(db, query, depth)),
            )
            texts = found or texts
        else:
            vector = await _embed(query.text, embedder, made_with)

        def read(db: apsw.Connection) -> SearchResult:
            nearest = search.rank_by_vector(db, query, vector, depth)
            # The words of another language find what has them by chance, and would push out what is meant.
            by_words = () if texts.foreign and nearest else texts.ranking
            # No vector knows the number of a section.
            fused = fuse((by_words, () if "§" in query.text and by_words else nearest))
            ranking = fused if mode is RetrievalMode.HYBRID else nearest
            rowids = [found for found, _ in ranking[: query.top]]
            closeness = search.closeness_of(db, vector, [found for found, _ in nearest[:1]] + rowids)
            scores = dict(by_words)
            others = {one: {"closeness": closeness.get(one, ()), "score_by_words": scores.get(one)} for one in rowids}
            found = [_with_parts(one, embedder.part_size) for one in _best(db, ranking, query, others)]
            titles = search.titles_in(db, query.access)
            return SearchResult(tuple(found), mode, rarities=texts.rarities, titles=titles)

        return await self._readers.run(read) or SearchResult((), mode)


def _contents(db: apsw.Connection) -> tuple[int, int, EmbeddingInfo | None]:
    """The number of documents and of passages, and the model of the vectors; None: there are none."""
    counts = db.execute("SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM passages)").fetchone()
    return *msgspec.convert(counts, tuple[int, int]), embedding_info(db)


def _best(
    db: apsw.Connection,
    ranking: search.Ranking,
    query: SearchQuery,
    others: Mapping[int, Mapping[str, object]] = MappingProxyType({}),
) -> tuple[Passage, ...]:
    minimum = -math.inf if query.minimum_score is None else query.minimum_score
    return search.load_passages(db, [scored for scored in ranking[: query.top] if scored[1] >= minimum], others)


def _with_parts(passage: Passage, size: int | None) -> Passage:
    """Add the texts of the parts that have a vector each."""
    parts = tuple(text for _, text in parts_of([passage.whole], size)) if size else (passage.whole,)
    return replace(passage, parts=parts) if len(parts) == len(passage.closeness) else passage


async def _embed(text: str, embedder: Embedder, made_with: EmbeddingInfo) -> Sequence[float]:
    vector = (await embedder.embed([text[:LONGEST_TO_EMBED]], questions=True))[0]
    if len(vector) != made_with.dimensions:
        raise NotConfigured(
            f"The index has vectors of {made_with.dimensions} numbers, and the embedding model {embedder.model} now "
            f"gives {len(vector)}. Run `make index` to make them anew."
        )
    return vector


def _expect_model(made_with: EmbeddingInfo, model: str) -> None:
    if made_with.model != model:
        raise NotConfigured(
            f"The index was made with the embedding model {made_with.model}, and {model} is configured now. Run "
            "`make index` to make its vectors anew."
        )


_RANK_CONSTANT = 60
"""Reduces the weight of the first ranks.

Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods (SIGIR 2009); Azure AI Search uses the same value.
"""


def fuse(rankings: Iterable[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Fuse rankings, best first: a score is the sum of `1 / (60 + rank)`; of equal ones the first found is first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (found, _) in enumerate(ranking, start=1):
            scores[found] = scores.get(found, 0.0) + 1 / (_RANK_CONSTANT + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
