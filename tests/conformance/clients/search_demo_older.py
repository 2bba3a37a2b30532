"""azure-search-openai-demo's React front end until 5 June 2024 (c873b496): `choices[0]`, and `stream` in the body.

It reads a stream like the newer one, with everything in `choices[0]`, and does not look at the status of a stream: an
error is found in its lines only. A thought's description that is neither text nor list breaks the page.
"""

from tests.conformance.backend import Backend, Reply
from tests.conformance.clients.search_demo import DOCUMENT, SHOWN, cited_document
from tests.conformance.reading import Breaks, Json, at, ndjson, of, truthy
from tests.conformance.rules import Client, Probe, Rule
from tests.conformance.shown import (
    ERROR_TEXT,
    STATE,
    STATUS,
    Refused,
    Shown,
    accepted,
    messages,
    refused,
)

OVERRIDES: Json = {
    "top": 3,
    "temperature": 0.3,
    "retrieval_mode": "text",
    "semantic_ranker": False,
    "semantic_captions": False,
    "suggest_followup_questions": True,
    "use_oid_security_filter": False,
    "use_groups_security_filter": False,
    "vector_fields": ["embedding"],
    "use_gpt4v": False,
    "gpt4v_input": "textAndImages",
}
"""What its settings panel sends; retrieval by text, which needs no embedding model."""


def read_answer(reply: Reply) -> Shown:
    """One answer."""
    document = accepted(reply).json()
    return Shown(
        text=of(document, "choices", 0, "message", "content"),
        role=of(document, "choices", 0, "message", "role"),
        context=of(document, "choices", 0, "context"),
        state=of(document, "choices", 0, "session_state"),
    )


def read_stream(reply: Reply) -> Shown:
    """A stream, folded as the front end does."""
    response: Json = None
    context: dict[str, Json] = {}
    text = ""
    for event in ndjson(reply.body):
        if not truthy(at(event, "choices")):
            if truthy(at(event, "error")):
                raise Breaks(f"it shows the error {at(event, 'error')!r}")
            continue
        found = of(event, "choices", 0, "context")
        if truthy(at(found, "data_points")):
            response, context = event, found if isinstance(found, dict) else {}
        elif isinstance(content := of(event, "choices", 0, "delta", "content"), str) and content:
            of(response, "choices", 0, "delta", "role")
            text += content
        elif isinstance(found, dict):
            of(response, "choices", 0, "context")
            context = context | found
    if response is None:
        raise Breaks("no line has choices[0].context.data_points")
    choice = of(response, "choices", 0)
    return Shown(text=text, role=of(choice, "delta", "role"), context=context, state=at(choice, "session_state"))


def _body(backend: Backend, *, stream: bool) -> Json:
    return {
        "messages": messages(backend),
        "stream": stream,
        "context": {"overrides": OVERRIDES},
        "session_state": STATE,
    }


def _bad(*, stream: bool) -> Json:
    return {"messages": [], "stream": stream, "context": {"overrides": {}}, "session_state": None}


async def _answer(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}chat", _body(backend, stream=False)))


async def _stream(backend: Backend, base: str) -> Shown:
    return read_stream(await backend.post(f"{base}chat", _body(backend, stream=True)))


async def _ask(backend: Backend, base: str) -> Shown:
    return read_answer(await backend.post(f"{base}ask", _body(backend, stream=False)))


async def _refused(backend: Backend, base: str) -> Refused:
    return refused(await backend.post(f"{base}chat", _bad(stream=False)))


async def _refused_stream(backend: Backend, base: str) -> Refused:
    return refused_in_lines(await backend.post(f"{base}chat", _bad(stream=True)))


def refused_in_lines(reply: Reply) -> Refused:
    """The first error in a stream's lines; the status is not looked at, so it counts as 400."""
    errors = (at(event, "error") for event in ndjson(reply.body))
    return Refused(400, next(filter(truthy, errors), None))


async def _cited(backend: Backend, base: str) -> Reply:
    answer = read_answer(await backend.post(f"{base}chat", _body(backend, stream=False)))
    return await cited_document(backend, base, answer)


def _are_shown(thoughts: Json) -> bool:
    return isinstance(thoughts, list) and not any(isinstance(at(each, "description"), dict) for each in thoughts)


DESCRIPTIONS = Rule[Shown](
    "descriptions",
    "A thought's description is a text, a list or null: an object breaks the page.",
    lambda shown: _are_shown(at(shown.context, "thoughts")),
)
RULES = (*SHOWN, DESCRIPTIONS)

SEARCH_DEMO_OLDER = Client(
    "search-demo-older",
    "azure-search-openai-demo, until June 2024",
    "",
    (
        Probe("chat", "an answer", _answer, RULES),
        Probe("chat", "a bad request", _refused, (STATUS, ERROR_TEXT)),
        Probe("chat", "a stream", _stream, RULES),
        Probe("chat", "a bad request for a stream", _refused_stream, (ERROR_TEXT,)),
        Probe("ask", "a question", _ask, RULES),
        Probe("content", "a cited document", _cited, (DOCUMENT,)),
    ),
)
