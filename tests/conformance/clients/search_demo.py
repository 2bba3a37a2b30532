"""azure-search-openai-demo's React front end from June 2024 (dd7c1d2d) to 9 April 2026 (e7dda33d): `message`, `delta`.

From a stream it takes the line with data points for the answer, adds the later lines' `delta.content` to its text, and
merges the `context` of the others into its context, key by key. It shows `error` as it is.
"""

from tests.conformance.backend import Backend, NotOffered, Reply
from tests.conformance.clients.search_demo_page import PAGE_PROBES
from tests.conformance.reading import Breaks, Json, at, is_text, ndjson, of, truthy
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import (
    CITATIONS,
    DATA_POINTS,
    ERROR_TEXT,
    FOLLOWUPS,
    NO_MESSAGES,
    ROLE,
    STATE,
    STATE_BACK,
    STATUS,
    TEXT,
    THOUGHTS,
    Refused,
    Shown,
    accepted,
    messages,
    refused,
)

OVERRIDES: dict[str, Json] = {
    "top": 3,
    "temperature": 0.3,
    "retrieval_mode": "text",
    "semantic_ranker": False,
    "semantic_captions": False,
    "query_rewriting": False,
    "reasoning_effort": "",
    "minimum_search_score": 0,
    "minimum_reranker_score": 0,
    "suggest_followup_questions": True,
    "use_oid_security_filter": False,
    "use_groups_security_filter": False,
    "search_text_embeddings": True,
    "search_image_embeddings": False,
    "send_text_sources": True,
    "send_image_sources": False,
    "language": "en",
    "use_agentic_knowledgebase": False,
}
"""What its settings panel sends; retrieval by text, which needs no embedding model."""
SHOWN = (TEXT, ROLE, DATA_POINTS, THOUGHTS, FOLLOWUPS, CITATIONS, STATE_BACK)


def read_answer(reply: Reply) -> Shown:
    """One answer."""
    document = accepted(reply).json()
    return Shown(
        text=of(document, "message", "content"),
        role=of(document, "message", "role"),
        context=of(document, "context"),
        state=of(document, "session_state"),
    )


def read_stream(reply: Reply) -> Shown:
    """A stream, folded as the front end does."""
    response: Json = None
    context: dict[str, Json] = {}
    text = ""
    for event in ndjson(accepted(reply).body):
        if truthy(at(event, "context", "data_points")):
            response, context = event, merged({}, of(event, "context"))
        elif isinstance(content := at(event, "delta", "content"), str) and content:
            of(response, "delta", "role")
            text += content
        elif truthy(at(event, "context")):
            context = merged(context, at(event, "context"))
        elif truthy(at(event, "error")):
            raise Breaks(f"it shows the error {at(event, 'error')!r}")
    if response is None:
        raise Breaks("no line has context.data_points")
    role = of(response, "delta", "role")
    return Shown(text=text, role=role, context=context, state=at(response, "session_state"))


def merged(context: dict[str, Json], more: Json) -> dict[str, Json]:
    """The front end's context with that of another line."""
    return context | more if isinstance(more, dict) else context


def _body(backend: Backend) -> Json:
    return {"messages": messages(backend), "context": {"overrides": OVERRIDES}, "session_state": STATE}


async def _answer(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}chat", _body(backend)))


async def _stream(backend: Backend, base: str) -> Shown:
    return read_stream(await backend.post(f"{base}chat/stream", _body(backend)))


async def refused_answer(backend: Backend, base: str) -> Refused:
    """What a bad request gets."""
    return refused(await backend.post(f"{base}chat", NO_MESSAGES))


async def refused_stream(backend: Backend, base: str) -> Refused:
    """What a bad request for a stream gets."""
    return refused(await backend.post(f"{base}chat/stream", NO_MESSAGES))


async def _cited(backend: Backend, base: str) -> Reply:
    answer = read_answer(await backend.post(f"{base}chat", _body(backend)))
    return await cited_document(backend, base, answer)


async def cited_document(backend: Backend, base: str, answer: Shown) -> Reply:
    """What opens when the first citation is clicked; a backend whose answers cite nothing does not offer it."""
    _, bracket, cited = str(answer.text).partition("[")
    if not bracket:
        raise NotOffered
    return await backend.get(f"{base}content/{cited.split(']')[0]}")


def _has_links(shown: Shown) -> bool:
    """Whether a citation, if there is any, is one that can be clicked."""
    citations = at(shown.context, "data_points", "citations")
    names = [name for name in citations if isinstance(name, str)] if isinstance(citations, list) else []
    cited = [piece.split("]")[0] for piece in str(shown.text).split("[")[1:]]
    return not cited or any(name.startswith(part) for part in cited for name in names)


LINKS = Rule[Shown](
    "links",
    "What is cited in square brackets is in context.data_points.citations: newer ones make links of nothing else.",
    _has_links,
)
DOCUMENT = Rule[Reply]("document", "A cited document can be opened.", lambda reply: reply.ok and bool(reply.body))


async def _unsafe(backend: Backend, base: str) -> Refused:
    body: Json = {"messages": [{"role": "user", "content": backend.refused_question()}], "context": {}}
    reply = await backend.post(f"{base}chat/stream", body)
    errors = [at(event, "error") for event in ndjson(reply.body)]
    return Refused(reply.status, next(filter(truthy, errors), None))


IN_STREAM = Rule[Refused](
    "in the stream",
    "A refusal is a success with a line with 'error', a text: of another status the page shows the number alone"
    " (pages/chat/Chat.tsx:314 at e7dda33d of 2026-04-09; since f71bbdf4 of August 2024).",
    lambda seen: 200 <= seen.status <= 299 and is_text(seen.error),
)

SEARCH_DEMO = Client(
    "search-demo",
    "azure-search-openai-demo, June 2024 to April 2026",
    "ai-chat",
    (
        Probe("chat", "an answer", _answer, (*SHOWN, LINKS)),
        Probe("chat", "a bad request", refused_answer, (STATUS, ERROR_TEXT)),
        Probe("chat/stream", "a stream", _stream, (*SHOWN, LINKS)),
        Probe("chat/stream", "a bad request", refused_stream, (STATUS, ERROR_TEXT)),
        Probe("chat/stream", "a refused question", _unsafe, (IN_STREAM,)),
        Probe("content", "a cited document", _cited, (DOCUMENT,)),
        *PAGE_PROBES,
    ),
)
