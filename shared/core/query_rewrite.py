"""From a conversation to a search query that stands alone."""

from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from shared.chat_models import ChatModel, ModelFinished, ModelRequest, ModelText
from shared.chat_types import ChatRequest, Message, RequestContext, ToolCall
from shared.core.prompts import SEARCH_TOOL, rewrite_prompt
from shared.events import CompletionStarted, FilterAnnotation, Usage

_LONGEST_QUERY = 1_000
"""Characters; a model that writes more did not write a query."""


_MOST_TOKENS = 4_000
"""The call takes a few dozen, and a reasoning model thinks before it."""


class _SearchArguments(msgspec.Struct):
    search_query: str


async def rewrite_query(
    model: ChatModel, request: ChatRequest, history: Sequence[Message], context: RequestContext
) -> tuple[str, Usage | None]:
    """Ask the model for a search query, by a tool call.

    Returns the query and what it cost. A model that makes nothing usable of it costs quality, not the answer: the
    query is then the question as it was asked.
    """
    call = ModelRequest(
        messages=rewrite_prompt(request, history),
        question=request.question,
        tools=(SEARCH_TOOL,),
        temperature=0,
        seed=request.overrides.seed,
        max_tokens=_MOST_TOKENS,
    )
    query, usage = "", None
    async with aclosing(model.stream(call, context)) as events:
        async for event in events:
            match event:
                case ToolCall():
                    query = query or _query_in(event)
                case ModelFinished():
                    usage = event.usage
                case CompletionStarted() | FilterAnnotation() | ModelText():
                    pass  # a model that talks instead of calling says nothing that can be searched for
    return query or request.question, usage


def _query_in(call: ToolCall) -> str:
    try:
        query = msgspec.json.decode(call.arguments, type=_SearchArguments).search_query.strip()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return query if len(query) <= _LONGEST_QUERY else ""
