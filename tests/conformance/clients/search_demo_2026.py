"""azure-search-openai-demo's React front end since 10 April 2026 (3f4f43a6): `output_text`, and typed records.

Its page takes the last `response.context` with data points for the answer's context and state, adds each
`response.output_text.delta` to its text, merges other contexts into its own key by key, and looks at no other record
but an error. Read in app/frontend/src/pages/chat/Chat.tsx at 8e2eea9b (2026-06-25).
"""

from tests.conformance.backend import Backend, Reply
from tests.conformance.clients.search_demo import (
    DOCUMENT,
    LINKS,
    OVERRIDES,
    cited_document,
    merged,
    refused_answer,
    refused_stream,
)
from tests.conformance.clients.search_demo_page import PAGE_PROBES
from tests.conformance.reading import Breaks, Json, are_texts, at, ndjson, of, truthy
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import (
    CITATIONS,
    DATA_POINTS,
    ERROR_TEXT,
    FOLLOWUPS,
    STATE,
    STATE_BACK,
    STATUS,
    TEXT,
    THOUGHTS,
    Shown,
    accepted,
    messages,
)

IMAGES = Rule[Shown](
    "images",
    "Images of sources are texts, each the address of an image (components/SupportingContent/SupportingContent.tsx).",
    lambda shown: (images := at(shown.context, "data_points", "images")) is None or are_texts(images),
)
RULES = (IMAGES, TEXT, DATA_POINTS, THOUGHTS, FOLLOWUPS, CITATIONS, STATE_BACK, LINKS)


def read_answer(reply: Reply) -> Shown:
    """One answer."""
    document = accepted(reply).json()
    if truthy(at(document, "error")):
        raise Breaks(f"it shows the error {at(document, 'error')!r}")
    if not isinstance(text := at(document, "output_text"), str):
        raise Breaks("output_text is missing, and the page crashes")
    return Shown(text=text, context=at(document, "context"), state=at(document, "session_state"))


def read_stream(reply: Reply) -> Shown:
    """A stream, folded as the front end does."""
    context: dict[str, Json] = {}
    state: Json = None
    text = ""
    for event in ndjson(accepted(reply).body):
        found = at(event, "context") if at(event, "type") == "response.context" else None
        if truthy(at(found, "data_points")):
            context, state = merged({}, found), at(event, "session_state")
        elif at(event, "type") == "response.output_text.delta" and isinstance(delta := of(event, "delta"), str):
            text += delta
        elif truthy(found):
            context = merged(context, found)
        elif truthy(at(event, "error")):
            raise Breaks(f"it shows the error {at(event, 'error')!r}")
    if not text:
        raise Breaks("no record has text, so that the question goes back into the input field")
    return Shown(text=text, context=context, state=state)


def _body(backend: Backend) -> Json:
    return {
        "messages": messages(backend),
        "context": {"overrides": {**OVERRIDES, "send_image_sources": True}},
        "session_state": STATE,
    }


async def _answer(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}chat", _body(backend)))


async def _stream(backend: Backend, base: str) -> Shown:
    return read_stream(await backend.post(f"{base}chat/stream", _body(backend)))


async def _cited(backend: Backend, base: str) -> Reply:
    answer = read_answer(await backend.post(f"{base}chat", _body(backend)))
    return await cited_document(backend, base, answer)


SEARCH_DEMO_2026 = Client(
    "search-demo-2026",
    "azure-search-openai-demo, April 2026 on",
    "ai-chat-2026-04",
    (
        Probe("chat", "an answer", _answer, RULES),
        Probe("chat", "a bad request", refused_answer, (STATUS, ERROR_TEXT)),
        Probe("chat/stream", "a stream", _stream, RULES),
        Probe("chat/stream", "a bad request", refused_stream, (STATUS, ERROR_TEXT)),
        Probe("content", "a cited document", _cited, (DOCUMENT,)),
        *PAGE_PROBES,
    ),
)
