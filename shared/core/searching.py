"""A search of a turn: what it may look among, and what the debug display shows of it."""

from shared.chat_types import ChatRequest, Json, Overrides, Passage, RequestContext, RetrievalMode
from shared.core.prompts import source_line
from shared.errors import NotSignedIn
from shared.events import Thought
from shared.retrieval import SearchQuery, SearchResult

_NO_RETRIEVER_YET = (
    "semantic_ranker",
    "semantic_captions",
    "vector_fields",
    "minimum_reranker_score",
    "use_gpt4v",
)
"""Overrides that Azure AI Search is needed for; a request that sets one is answered without, and told so."""


def search_query(request: ChatRequest, context: RequestContext, query: str) -> SearchQuery:
    """The search for a text, as the request's overrides have it and among what its caller may see.

    Raises:
        NotSignedIn: a security filter is asked for, and nobody is signed in.
    """
    overrides, caller = request.overrides, context.caller
    filtered = overrides.use_oid_security_filter or overrides.use_groups_security_filter
    if filtered and caller.oid is None:
        raise NotSignedIn("Sign in to search with a security filter, or leave the security filters off.")
    return SearchQuery(
        text=query,
        mode=overrides.retrieval_mode,
        top=overrides.top,
        include_category=overrides.include_category,
        exclude_category=overrides.exclude_category,
        minimum_score=overrides.minimum_search_score,
        oid=caller.oid if overrides.use_oid_security_filter else None,
        groups=caller.groups if overrides.use_groups_security_filter else None,
    )


def search_thoughts(search: SearchQuery, found: SearchResult, overrides: Overrides) -> tuple[Thought, ...]:
    """What was searched for, and what was found."""
    return (
        Thought("Generated search query", search.text, _props(overrides, search, found)),
        Thought(
            "Results",
            [_result(passage) for passage in found.passages],
            quotes=tuple(map(source_line, found.passages)),
        ),
    )


def _props(overrides: Overrides, search: SearchQuery, found: SearchResult) -> dict[str, Json]:
    ignored: list[Json] = [name for name in _NO_RETRIEVER_YET if getattr(overrides, name)]
    props: dict[str, Json] = {
        "top": search.top,
        "retrieval_mode": found.mode.value,
        "has_vector": found.mode is not RetrievalMode.TEXT,
        "use_semantic_ranker": False,
        "use_semantic_captions": False,
    }
    if ignored:
        props["ignored_overrides"] = ignored
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
        "captions": [],
        "score": passage.score,
    }
