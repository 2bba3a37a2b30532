"""A search of a turn: what it may look among, and what the debug display shows of it."""

from shared.chat_types import ChatRequest, Json, Overrides, Passage, RequestContext, RetrievalMode
from shared.core.newer_overrides import asks_for_more_than_text, vectors_searched
from shared.events import DataPoint, Thought
from shared.retrieval import SearchQuery, SearchResult


def search_query(request: ChatRequest, context: RequestContext, query: str) -> SearchQuery:
    """The search for a text, as the request's overrides have it and among what its caller may see."""
    overrides = request.overrides
    mode, vector_fields = vectors_searched(overrides)
    return SearchQuery(
        text=query,
        mode=mode,
        top=overrides.top,
        include_category=overrides.include_category,
        exclude_category=overrides.exclude_category,
        minimum_score=overrides.minimum_search_score,
        access=context.access,
        semantic_ranker=overrides.semantic_ranker,
        semantic_captions=overrides.semantic_captions,
        minimum_reranker_score=overrides.minimum_reranker_score,
        vector_fields=vector_fields,
        any_vector_field=not overrides.vector_fields,
    )


def search_thoughts(
    search: SearchQuery, found: SearchResult, overrides: Overrides, *, images_as_asked: bool = False
) -> tuple[Thought, ...]:
    """What was searched for, and what was found; and whether images were shown as asked."""
    asked_for_images = asks_for_more_than_text(overrides)
    ignored = [asked_for_images] if asked_for_images and not images_as_asked else []
    return (
        Thought(
            "Generated search query",
            search.text,
            _props(search, found, ignored),
            degraded="search" if found.note else None,
        ),
        Thought(
            "Results",
            [_result(passage) for passage in found.passages],
            quotes=tuple(map(DataPoint.of, found.passages)),
        ),
    )


def _props(search: SearchQuery, found: SearchResult, more_ignored: list[str]) -> dict[str, Json]:
    ignored = [*found.ignored, *more_ignored]
    props: dict[str, Json] = {
        "top": search.top,
        "retrieval_mode": found.mode.value,
        "has_vector": found.mode is not RetrievalMode.TEXT,
        "use_semantic_ranker": search.semantic_ranker and "semantic_ranker" not in ignored,
        "use_semantic_captions": search.semantic_captions and "semantic_captions" not in ignored,
        **found.details,
    }
    if ignored:
        props["ignored_overrides"] = list[Json](ignored)
    if found.steps is not None:
        props["steps"] = found.steps
    if found.note:
        props["note"] = found.note
    return props


def _result(passage: Passage) -> dict[str, Json]:
    """A passage with the keys of the documents' examples (rag-chat-http-protocol, 'Results')."""
    return {
        "id": passage.id,
        "content": passage.content,
        "embedding": None,
        "imageEmbedding": None,
        "category": passage.category,
        "sourcepage": passage.sourcepage,
        "sourcefile": passage.sourcefile,
        "oids": list[Json](passage.oids),
        "groups": list[Json](passage.groups),
        "captions": [{"text": caption.text, "highlights": caption.highlights} for caption in passage.captions],
        "score": passage.score,
        "reranker_score": passage.reranker_score,
    }
