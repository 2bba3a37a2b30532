"""What a question is searched by in the vector fields of an index.

Vectors of ours, or its text where the index has a vectorizer. Imports `azure.search.documents`: import it late.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from azure.search.documents.models import VectorizableTextQuery, VectorizedQuery, VectorQuery

from shared.errors import BadRequest
from shared.retrieval import LONGEST_TO_EMBED, Embedder
from shared.retrieval.azure_search.fields import IndexFields

_NAMES = {
    "embedding": ("embedding",),
    "imageEmbedding": ("imageEmbedding",),
    "textEmbeddingOnly": ("embedding",),
    "imageEmbeddingOnly": ("imageEmbedding",),
    "textAndImageEmbeddings": ("embedding", "imageEmbedding"),
    "both": ("embedding", "imageEmbedding"),
}
"""The fields that `vector_fields` of a request can ask for: by their names, or as azure-search-openai-demo puts it."""

_MISSING = {
    "embedding": "Searching by the meaning of a text needs an embedding model: set OPENAI_EMBEDDING_MODEL or "
    "AZURE_OPENAI_EMBEDDING_DEPLOYMENT, or AZURE_SEARCH_VECTORIZER where the index has one.",
    "imageEmbedding": "Searching images needs AZURE_VISION_ENDPOINT.",
}
"""What to do where a field cannot be searched."""


type _MakeQuery = Callable[[str, int], Awaitable[VectorQuery]]
"""Makes the query of a field, for a text and so many passages."""


@dataclass(frozen=True, slots=True)
class ChosenFields:
    """The vector fields that a search uses."""

    queries: Mapping[str, _MakeQuery]
    """By the fields' default names; empty where there is none that can be searched."""
    missing: str
    """What would be needed for those that were asked for and cannot be searched; empty if there are none."""

    async def search_by(self, text: str, nearest: int) -> list[VectorQuery]:
        """A query for each of the fields, made at the same time.

        Args:
            text: The question.
            nearest: How many passages each query finds.

        Raises:
            RateLimited, Unavailable, TooSlow: faults of the service that makes the vectors.
        """
        making = [asyncio.ensure_future(query(text[:LONGEST_TO_EMBED], nearest)) for query in self.queries.values()]
        try:
            return await asyncio.gather(*making)
        finally:
            for query in making:
                query.cancel()  # where one fails, nobody waits for the others


class VectorFields:
    """The vector fields of an index that can be searched.

    Args:
        fields: What the index calls them.
        embedder: Makes vectors of questions for the field of texts. None: there are none of ours.
        image_embedder: Makes vectors of questions that lie where those of images do. None: images are not searched.
        vectorizer: Whether the index makes the vectors of questions for the field of texts.
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
        """The fields to search.

        Args:
            asked: By the names that requests have for them; none: all that can be searched.

        Raises:
            BadRequest: there is no such field.
        """
        wanted: dict[str, None] = {}
        for name in asked:
            if name not in _NAMES:
                raise BadRequest(f"vector_fields: should be one or more of {', '.join(_NAMES)}.")
            wanted |= dict.fromkeys(_NAMES[name])
        queries = {name: query for name, query in self._queries.items() if name in (wanted or self._queries)}
        missing = [_MISSING[name] for name in wanted or ["embedding"] if name not in queries]
        return ChosenFields(queries, " ".join(missing))


def _by_vectorizer(field: str) -> _MakeQuery:
    async def query(text: str, nearest: int) -> VectorQuery:
        return VectorizableTextQuery(text=text, k_nearest_neighbors=nearest, fields=field)

    return query


def _by_embedder(embedder: Embedder, field: str) -> _MakeQuery:
    async def query(text: str, nearest: int) -> VectorQuery:
        vectors = await embedder.embed([text])
        return VectorizedQuery(vector=vectors[0], k_nearest_neighbors=nearest, fields=field)

    return query
