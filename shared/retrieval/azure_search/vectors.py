"""Vector queries for a question: with vectors that the app makes, or with the text if the index has a vectorizer.

Imports `azure.search.documents`: import it late.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec
from azure.search.documents.models import VectorizableTextQuery, VectorizedQuery, VectorQuery

from shared.errors import BadRequest
from shared.retrieval import LONGEST_TO_EMBED, Embedder
from shared.retrieval.azure_search.fields import IndexFields

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


type _MakeQuery = Callable[[str, int], Awaitable[VectorQuery]]
"""Makes the query of a field, from a text and the number of passages to find."""


class ChosenFields(msgspec.Struct, frozen=True):
    """The vector fields that a search uses."""

    queries: Mapping[str, _MakeQuery]
    """By the fields' default names; empty if none can be searched."""
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
        making = [asyncio.ensure_future(query(text[:LONGEST_TO_EMBED], nearest)) for query in self.queries.values()]
        try:
            return await asyncio.gather(*making)
        finally:
            for query in making:
                query.cancel()  # if one failed, the others are not needed


class VectorFields:
    """The vector fields of an index that can be searched.

    Args:
        fields: Names of the index's fields.
        embedder: Makes vectors of questions for the field of texts; None: the app makes none.
        image_embedder: Makes vectors of questions in the space of the images' vectors; None: images are not searched.
        vectorizer: Whether the service makes the vectors of questions for the field of texts.
    """

    def __init__(
        self, fields: IndexFields, embedder: Embedder | None, image_embedder: Embedder | None, *, vectorizer: bool
    ) -> None:
        self._queries: dict[str, _MakeQuery] = {}
        if vectorizer:
            self._queries["embedding"] = _by_vectorizer(fields.embedding)
        elif embedder:
            self._queries["embedding"] = _by_embedder(embedder, fields.embedding)
        if image_embedder:
            self._queries["imageEmbedding"] = _by_embedder(image_embedder, fields.image_embedding)

    def chosen(self, asked: Iterable[str]) -> ChosenFields:
        """Choose the fields to search.

        Args:
            asked: Values of a request's `vector_fields`; empty: all fields that can be searched.

        Raises:
            BadRequest: a value is unknown.
        """
        wanted: dict[str, None] = {}
        for name in asked:
            if name not in _FIELDS_BY_NAME:
                raise BadRequest(f"vector_fields: should be one or more of {', '.join(_FIELDS_BY_NAME)}.")
            wanted |= dict.fromkeys(_FIELDS_BY_NAME[name])
        queries = {name: query for name, query in self._queries.items() if name in (wanted or self._queries)}
        missing = [_HOW_TO_ENABLE[name] for name in wanted or ["embedding"] if name not in queries]
        return ChosenFields(queries, " ".join(missing))


def _by_vectorizer(field: str) -> _MakeQuery:
    async def query(text: str, nearest: int) -> VectorQuery:
        return VectorizableTextQuery(text=text, k_nearest_neighbors=nearest, fields=field)

    return query


def _by_embedder(embedder: Embedder, field: str) -> _MakeQuery:
    async def query(text: str, nearest: int) -> VectorQuery:
        vectors = await embedder.embed([text], questions=True)
        return VectorizedQuery(vector=vectors[0], k_nearest_neighbors=nearest, fields=field)

    return query
