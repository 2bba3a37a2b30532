"""Searches as spans, and what is asked of an embedding model for them."""

from collections.abc import Sequence

from opentelemetry.trace import Tracer
from opentelemetry.util.types import AttributeValue

from shared.chat_types import Access, PartHealth, RequestContext
from shared.retrieval import Embedder, Retriever, SearchQuery, SearchResult
from shared.telemetry import names
from shared.telemetry.content import documents
from shared.telemetry.operation import Peer, operation


class TracedRetriever:
    """A `Retriever` whose searches are noted.

    Args:
        retriever: What searches.
        peer: Who and where it is.
        tracer: Makes the spans.
        content: Whether to note queries, and the names of what was found.
    """

    def __init__(self, retriever: Retriever, peer: Peer, tracer: Tracer, *, content: bool) -> None:
        self._retriever = retriever
        self._peer = peer
        self._tracer = tracer
        self._content = content

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """Search; see `Retriever.search`."""
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "retrieval",
            names.DATA_SOURCE: self._peer.name,
            names.RETRIEVAL_TOP: query.top,
            **self._peer.attributes,
        }
        if self._content:
            attributes[names.QUERY] = query.text
        name = f"retrieval {self._peer.name}"
        with operation(self._tracer, name, self._peer.kind, attributes, context.deadline) as span:
            found = await self._retriever.search(query, context)
            span.set_attribute(names.OUTCOME, "ok")
            span.set_attribute(names.SOURCES, len(found.passages))
            span.set_attribute(names.SEARCH_MODE, found.mode.value)
            if found.note:
                span.set_attribute(names.DEGRADED, ["search"])
            if self._content:
                named = [(passage.sourcepage, passage.score) for passage in found.passages]
                span.set_attribute(names.DOCUMENTS, documents(named))
            return found

    async def may_see(self, document: str, access: Access) -> bool:
        """Whether a document may be seen; see `Retriever.may_see`."""
        return await self._retriever.may_see(document, access)

    async def check(self) -> PartHealth:
        """Whether it can be searched now."""
        return await self._retriever.check()

    async def aclose(self) -> None:
        """Close what the retriever opened."""
        await self._retriever.aclose()


class TracedEmbedder:
    """An `Embedder` whose calls are noted.

    Args:
        embedder: What makes the vectors.
        peer: Who and where it is.
        tracer: Makes the spans.
    """

    def __init__(self, embedder: Embedder, peer: Peer, tracer: Tracer) -> None:
        self._embedder = embedder
        self._peer = peer
        self._tracer = tracer

    @property
    def model(self) -> str:
        """The embedding model's name."""
        return self._embedder.model

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text; see `Embedder.embed`."""
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: "embeddings",
            names.REQUEST_MODEL: self.model,
            names.TEXTS: len(texts),
            **self._peer.attributes,
        }
        with operation(self._tracer, f"embeddings {self.model}", self._peer.kind, attributes) as span:
            vectors = await self._embedder.embed(texts)
            span.set_attribute(names.OUTCOME, "ok")
            return vectors

    async def aclose(self) -> None:
        """Close what the embedder opened."""
        await self._embedder.aclose()
