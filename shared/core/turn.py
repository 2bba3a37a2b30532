"""The turn: one question to one answer, as a stream of events (DESIGN, 'The turn (RAG)')."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from shared.chat_models import ChatModel, ModelFinished, ModelRequest, ModelText
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
from shared.core.attachments import attached_thoughts
from shared.core.citations import unverified_citations
from shared.core.context_window import fit_history
from shared.core.followups import FollowupParser
from shared.core.prompts import answer_prompt, source_line
from shared.core.query_rewrite import rewrite_query
from shared.errors import NotSignedIn, Unavailable
from shared.events import ChatEvent, CompletionStarted, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded, Usage
from shared.retrieval import Retriever, SearchQuery, SearchResult


async def run_turn(
    request: ChatRequest, context: RequestContext, model: ChatModel, retriever: Retriever
) -> AsyncGenerator[ChatEvent]:
    """Answer the request from the retriever's sources with the model's words.

    Yields:
        `Retrieved`, `CompletionStarted`, `TextDelta`s, `ThoughtsAdded` if there is reason, `Finished`.

    Raises:
        SwitchboardError: what the model or the retriever could not do.
    """
    history = () if request.single_turn else fit_history(request.messages[:-1])
    query, rewriting = request.question, None
    if any(message.role is not Role.SYSTEM for message in history):
        query, rewriting = await rewrite_query(model, request, history, context)
    search = _search_query(request, context, query)
    found = await retriever.search(search, context)

    overrides = request.overrides
    lines = tuple(source_line(passage) for passage in found.passages)
    prompt = answer_prompt(request, history, lines)
    yield Retrieved(
        data_points=lines,
        thoughts=(
            Thought("Original user query", request.question),
            *attached_thoughts(request),
            Thought("Generated search query", query, _search_props(overrides, search, found)),
            Thought("Results", [_result(passage) for passage in found.passages]),
            Thought("Prompt", [{"role": message.role.value, "content": _shown(message)} for message in prompt]),
        ),
    )
    call = ModelRequest(
        messages=prompt,
        question=request.question,
        sources=found.passages,
        want_followups=overrides.suggest_followup_questions,
        temperature=overrides.temperature,
        seed=overrides.seed,
    )
    async with aclosing(_answer(model, call, context, rewriting)) as events:
        async for event in events:
            yield event


async def _answer(
    model: ChatModel, call: ModelRequest, context: RequestContext, spent: Usage | None
) -> AsyncGenerator[ChatEvent]:
    """The model's answer as events; `spent` is what the question cost before."""
    parser = FollowupParser() if call.want_followups else None
    answer: list[str] = []
    finished: ModelFinished | None = None
    async with aclosing(model.stream(call, context)) as events:
        async for event in events:
            match event:
                case ModelText():
                    if text := parser.feed(event.text) if parser else event.text:
                        answer.append(text)
                        yield TextDelta(text)
                case CompletionStarted():
                    yield event
                case ModelFinished():
                    finished = event
                case ToolCall():
                    pass  # none was offered, so there is nothing to call
    if parser and (rest := parser.flush()):
        answer.append(rest)
        yield TextDelta(rest)
    known = {source.sourcepage for source in call.sources} | {
        file.name for said in call.messages for file in said.files
    }
    if unverified := unverified_citations("".join(answer), known):
        yield ThoughtsAdded((Thought("Unverified citations", list[Json](unverified)),))
    if finished is None:
        raise Unavailable("The model's service cut its answer off. Try again.")
    yield Finished(
        reason="stop" if finished.reason == "tool_calls" else finished.reason,  # it had nothing to call
        usage=_total(spent, finished.usage),
        content_filter_results=finished.content_filter_results,
        followup_questions=tuple(parser.questions) if parser else None,
    )


def _shown(message: Message) -> str:
    """A message of the prompt for people to read: an image is named, not spelled out."""
    return "\n".join([message.text, *map(str, message.images)])


def _search_query(request: ChatRequest, context: RequestContext, query: str) -> SearchQuery:
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


_NO_RETRIEVER_YET = (
    "semantic_ranker",
    "semantic_captions",
    "vector_fields",
    "minimum_reranker_score",
    "use_gpt4v",
)
"""Overrides that Azure AI Search is needed for; a request that sets one is answered without, and told so."""


def _search_props(overrides: Overrides, search: SearchQuery, found: SearchResult) -> dict[str, Json]:
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


def _total(*usages: Usage | None) -> Usage | None:
    """What all model calls cost together; None when none was counted."""
    counted: Sequence[Usage] = [usage for usage in usages if usage]
    if not counted:
        return None
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in counted),
        completion_tokens=sum(usage.completion_tokens for usage in counted),
    )
