"""The search of a turn: the query, which a model may rewrite, its options, and the thoughts that show the search."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from copy import replace
from itertools import chain, zip_longest
from typing import NamedTuple

import msgspec

from shared.chat_models import ChatModel, ModelFinished, ModelRequest
from shared.chat_types import (
    ChatRequest,
    Json,
    Message,
    Overrides,
    Passage,
    RequestContext,
    RetrievalMode,
    Role,
    ToolCall,
)
from shared.core.prompts import PROMPTS, SEARCH_TOOL, rewrite_prompt
from shared.core.source_images import asks_for_more_than_text
from shared.core.sources import SEARCHED, fitting, is_sure, nearest
from shared.errors import SwitchboardError
from shared.events import DataPoint, Thought, Usage
from shared.retrieval import Retriever, SearchQuery, SearchResult
from shared.runtime.late_imports import run_import

LONGEST_QUERY = 1_000
"""Characters of a rewritten query; a longer one is no query, and the question is searched for instead."""
MOST_QUERIES = 3
"""Queries for one question, at most."""
_SHORT, _LONG = 8, 200
"""Words of a question that seldom asks several things, so that a language model's first search need not wait for an
import; and characters of the longest that tells no story."""
_REWRITE_TOKENS = 4_000
"""Most tokens of the model call that rewrites the query. It takes a few dozen, but a reasoning model thinks first."""
_NAME = re.compile(r"\b[A-Z]\w+")


NOT_REWRITTEN = "The model wrote no search query: the question is searched for, with words that it refers to."
"""Note of a search by a question that the model should have rewritten."""


class Searched(NamedTuple):
    """The search of a turn."""

    searches: Sequence[SearchQuery]
    """What was searched for; empty: nothing."""
    found: SearchResult
    spent: Usage | None
    """Tokens of the call in which the model wrote the queries."""
    note: str
    """Note for its thoughts; empty: none."""


async def search_of_turn(
    request: ChatRequest,
    history: Sequence[Message],
    context: RequestContext,
    model: ChatModel,
    retriever: Retriever,
    room: int,
) -> Searched:
    """Search for what the last message asks; in words of the model, where its own may not find it.

    The model rewrites a message that others come before. A first one is searched for as it is, and rewritten only if
    that may miss something. What is found is at most `room` tokens, unless the caller says how many passages.

    Raises:
        SwitchboardError: the model or the retriever failed.
    """
    note, queries, spent = "", None, None
    is_first = all(message.role is Role.SYSTEM for message in history)
    if not is_first:
        queries, spent = await rewrite_query(model, request, history, context)
        note = NOT_REWRITTEN if queries is None else ""
    if queries is None:
        words = len(request.question.split())
        is_one = is_first and (_is_long(request.question) or (model.takes_tools and words <= _SHORT))
        queries = [request.question] if is_one else await run_import(_queries_of, request, history if note else ())
    searches = [search_query(request, context, query) for query in queries]
    results = await _search_each(retriever, searches, context)
    if is_first and model.takes_tools and _may_miss(request.question, searches[0].top, results, room):
        abroad = results[0].languages
        try:
            queries, spent = await rewrite_query(model, request, (), context, abroad=", ".join(abroad))
        except SwitchboardError:  # the question as it stands has found something, or the answer fails as well
            queries = None
        if more := [search_query(request, context, query) for query in queries or () if query != request.question]:
            results = [*await _search_each(retriever, more, context), *([] if abroad else results[:1])]
            searches = [*more, searches[0]]
    # Words that a question only refers to would make what it asks itself look far.
    ends = model.takes_tools and not note and request.overrides.top is None
    found = _joined(results, searches[0].top if searches else 0, ends=ends)
    if request.overrides.top is None:
        found = replace(found, passages=fitting(found.passages, room, cuts=model.takes_tools))
    return Searched(searches, found, spent, note)


def _queries_of(request: ChatRequest, history: Sequence[Message]) -> list[str]:
    """The question, with what it refers to in the questions before it, and what else it asks."""
    from shared.chat_models.extractive.questions import parts_asked, standalone_query

    asked = (*history, request.messages[-1])
    question = standalone_query([message.content for message in asked if message.role is Role.USER])
    return [question, *parts_asked(request.question)][:MOST_QUERIES]


def _is_long(question: str) -> bool:
    return len(question) > _LONG


def _may_miss(question: str, top: int, results: Sequence[SearchResult], room: int) -> bool:
    """Whether the searches for a first question and its parts may miss what it asks.

    They may if it is in another language than the documents, or if it is long or asks several things and not all of
    them are sure. By words none is sure of a long one: a story scores high wherever its words are told.
    """
    is_long = _is_long(question)
    if results[0].languages or (is_long and results[0].mode is RetrievalMode.TEXT):
        return True
    return (is_long or len(results) > 1) and not all(is_sure(found, top, room) for found in results)


class _SearchArguments(msgspec.Struct):
    search_queries: list[str] | str


async def rewrite_query(
    model: ChatModel, request: ChatRequest, history: Sequence[Message], context: RequestContext, *, abroad: str = ""
) -> tuple[list[str] | None, Usage | None]:
    """Ask the model, by a tool call, for search queries that stand alone, in a language of `abroad` if it has any.

    Returns:
        The queries, an empty list if there is nothing to search for, and the tokens that the call used. None in place
        of queries: the model wrote none that can be used.
    """
    call = ModelRequest(
        messages=rewrite_prompt(request, history, abroad),
        question=request.question,
        tools=(SEARCH_TOOL,),
        temperature=0,
        seed=request.overrides.seed,
        max_tokens=_REWRITE_TOKENS,
    )
    queries: list[str] | None = None
    usage = None
    async with aclosing(model.stream(call, replace(context, is_whole=True))) as events:
        async for event in events:
            if isinstance(event, ToolCall) and queries is None:
                queries = _queries_in(event, call.messages[1:])
            elif isinstance(event, ModelFinished):
                usage = event.usage
    return queries, usage


def _queries_in(call: ToolCall, conversation: Sequence[Message]) -> list[str] | None:
    """Read the queries from a tool call; None if it has none that can be used, and does not say that none is needed."""
    try:
        found = msgspec.json.decode(call.arguments, type=_SearchArguments).search_queries
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    written = [found] if isinstance(found, str) else found[:MOST_QUERIES]
    said = "\n".join(message.content for message in conversation).casefold()
    queries = [text for query in written if (text := query.strip()) and len(text) <= LONGEST_QUERY]
    queries = [text for text in queries if not _is_example(text, said)]
    return queries or (None if written else [])


def _is_example(query: str, said: str) -> bool:
    """Whether a query is an example of its instructions and names what nobody has spoken of: small models copy them."""
    return query in PROMPTS["rewrite"] and any(name.casefold() not in said for name in _NAME.findall(query))


async def _search_each(
    retriever: Retriever, searches: Sequence[SearchQuery], context: RequestContext
) -> list[SearchResult]:
    return await asyncio.gather(*(retriever.search(search, context) for search in searches))


def _joined(results: Sequence[SearchResult], most: int, *, ends: bool) -> SearchResult:
    """Take in turn the passages that several searches found, at most `most`; they may end where their scores fall."""
    if not results:
        return SearchResult((), RetrievalMode.TEXT)
    results = [*map(nearest, results)] if ends else results
    in_turn = chain.from_iterable(zip_longest(*(result.passages for result in results)))
    passages: dict[str, Passage] = {}
    for passage in filter(None, in_turn):
        best = passages.setdefault(passage.id, passage)  # at its best place, where several searches found it
        passages[passage.id] = replace(best, closeness=tuple(map(max, best.closeness, passage.closeness)))
    rarities = {word: rarity for result in results for word, rarity in result.rarities.items()}
    return replace(results[0], passages=tuple(passages.values())[:most], rarities=rarities)


def search_query(request: ChatRequest, context: RequestContext, query: str) -> SearchQuery:
    """Make the search for a text, with the request's overrides and the caller's rights."""
    overrides = request.overrides
    mode, vector_fields = vectors_searched(overrides)
    return SearchQuery(
        text=query,
        mode=mode,
        top=overrides.top or SEARCHED,
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


def vectors_searched(overrides: Overrides) -> tuple[RetrievalMode | None, tuple[str, ...]]:
    """Return the retrieval mode and the vector fields to search; no field means all that the index has.

    The documents' override is `vector_fields`. The newest front end of azure-search-openai-demo sends
    `search_text_embeddings` and `search_image_embeddings` instead; with both off it wants a search by text.
    `vector_fields` takes precedence.
    """
    if overrides.vector_fields:
        return overrides.retrieval_mode, overrides.vector_fields
    images = overrides.search_image_embeddings
    if overrides.search_text_embeddings is False:
        return (RetrievalMode.TEXT, ()) if images is False else (overrides.retrieval_mode, ("imageEmbedding",))
    by_images = {True: ("embedding", "imageEmbedding"), False: ("embedding",), None: ()}
    return overrides.retrieval_mode, by_images[images]


def search_thoughts(
    searches: Sequence[SearchQuery],
    found: SearchResult,
    overrides: Overrides,
    *,
    images_as_asked: bool = False,
    note: str = "",
) -> tuple[Thought, ...]:
    """Make the thoughts of a search: each query with its options, and the results.

    `images_as_asked`: whether the images that the overrides ask for, if any, are shown to the model.
    """
    asked_for_images = asks_for_more_than_text(overrides)
    ignored = [asked_for_images] if asked_for_images and not images_as_asked else []
    degraded, notes = "search" if found.note else None, " ".join(filter(None, (note, found.note)))
    queries = [
        Thought("Generated search query", one.text, _props(one, found, ignored, notes), degraded=degraded)
        for one in searches
    ]
    return (
        *(queries or [Thought("Generated search query", "(no search is needed)")]),
        Thought(
            "Results",
            [_result(passage) for passage in found.passages],
            quotes=tuple(map(DataPoint.of, found.passages)),
        ),
    )


def _props(search: SearchQuery, found: SearchResult, more_ignored: list[str], note: str) -> dict[str, Json]:
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
    if note:
        props["note"] = note
    if found.foreign:
        props["foreign"] = found.foreign
    return props


def _result(passage: Passage) -> dict[str, Json]:
    """Make the record of a passage, with the keys of the example in rag-chat-http-protocol, 'Results'."""
    return {
        "id": passage.id,
        "content": passage.whole,
        "embedding": None,
        "imageEmbedding": None,
        "category": passage.category,
        "sourcepage": passage.sourcepage,
        "sourcefile": passage.sourcefile,
        "title": passage.title or None,
        "headings": list[Json](passage.headings),
        "oids": list[Json](passage.oids),
        "groups": list[Json](passage.groups),
        "captions": [{"text": caption.text, "highlights": caption.highlights} for caption in passage.captions],
        "score": passage.score,
        "reranker_score": passage.reranker_score,
    }
