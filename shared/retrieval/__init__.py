"""The boundary to search: `Retriever` finds passages, `PassageIndex` holds them, `Embedder` makes vectors.

Azure AI Search is in `azure_search/`, the built-in implementations are in `sqlite/`;
`ingestion` fills an index.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.chat_types import Access, Json, PartHealth, Passage, RequestContext, RetrievalMode


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for and among what."""

    text: str
    """Anything a user can type."""
    mode: RetrievalMode | None = None
    """None: the best that the retriever can do without being asked."""
    top: int = 3
    """At most so many passages."""
    include_category: str | None = None
    """Only passages of this category."""
    exclude_category: str | None = None
    """No passages of this category."""
    minimum_score: float | None = None
    """No passages that score lower."""
    access: Access | None = None
    """Only passages that may be seen so; None: all."""
    semantic_ranker: bool = False
    """Rank by meaning."""
    semantic_captions: bool = False
    """Captions instead of whole passages."""
    minimum_reranker_score: float | None = None
    """No passages that the semantic ranker scores lower."""
    vector_fields: tuple[str, ...] = ()
    """The vector fields to search, by the names that requests have for them; empty: all that there are."""
    any_vector_field: bool = False
    """Whether another field will do where none of these can be searched."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found."""

    passages: tuple[Passage, ...]
    """Best first, each with its score."""
    mode: RetrievalMode
    """How it was searched in the end."""
    note: str | None = None
    """Why it was not searched as asked."""
    ignored: tuple[str, ...] = ()
    """The query's fields that this retriever has no use for, though they are set."""
    steps: Json = None
    """What the service did by itself, such as searches that it planned; None: just this search."""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What else there is to say of how it was searched, for a debug display; nothing of the sources or of rights."""


def overrides_in(query: SearchQuery, *names: str) -> tuple[str, ...]:
    """Which of these overrides a query has, for `SearchResult.ignored`; by the names that requests have for them.

    A minimum of 0 leaves nothing out, and front ends send it where nobody asked for one.
    """
    values = {
        "retrieval_mode": query.mode,
        "semantic_ranker": query.semantic_ranker,
        "semantic_captions": query.semantic_captions,
        "vector_fields": query.vector_fields,
        "minimum_search_score": max(query.minimum_score or 0, 0),
        "minimum_reranker_score": max(query.minimum_reranker_score or 0, 0),
    }
    return tuple(name for name in names if values[name])


class Retriever(Protocol):
    """Finds passages."""

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """Find the passages that best match.

        Raises:
            BadRequest: the mode needs what is not configured.
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        ...

    async def may_see(self, document: str, access: Access) -> bool:
        """Whether a passage of this document, by its `sourcefile` or `sourcepage`, may be seen so.

        Raises:
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        ...

    async def check(self) -> PartHealth:
        """Whether it can be searched now."""
        ...


class PassageIndex(Protocol):
    """Holds the passages of documents, for ingestion to write."""

    async def fingerprints(self, sourcefile: str | None = None) -> Mapping[str, str]:
        """The fingerprint that each source file was indexed with; with a name that one's only, if it is there."""
        ...

    async def replace(
        self,
        sourcefile: str,
        fingerprint: str,
        passages: Sequence[Passage],
        vectors: Sequence[Sequence[float]] | None,
        image_vectors: Sequence[Sequence[float] | None] | None = None,
    ) -> None:
        """Put a file's passages in place of its old ones.

        Args:
            sourcefile: The file.
            fingerprint: What to know its state by.
            passages: All of them, in order, and at least one.
            vectors: One a passage; None: there is no embedder.
            image_vectors: Of each passage's page, None where it has no image; None: there are no images.

        Raises:
            Unavailable, RateLimited, TooSlow: the service's faults; the file is to be written again.
        """
        ...

    async def remove(self, sourcefile: str) -> None:
        """Forget a file; one that is not there is no error."""
        ...

    async def aclose(self) -> None:
        """Close what this index opened."""
        ...


LONGEST_TO_EMBED = 8_000
"""Characters of a question; embedding models refuse more than about 8,000 tokens, and the subject stands in the first
sentences."""


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def model(self) -> str:
        """The embedding model's name; vectors of different models do not compare."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order.

        Raises:
            RateLimited, Unavailable, TooSlow: the service's faults.
        """
        ...

    async def aclose(self) -> None:
        """Close what this embedder opened."""
        ...
