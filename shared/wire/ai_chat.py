"""`ai-chat`, `ai-chat-2024-05-29` and `ai-chat-2026-04`: the AI Chat Protocol in three spellings.

`ai-chat` is the one without a date, as azure-search-openai-demo spoke it from June 2024 to April 2026. Source:
ai-chat-protocol.

`ai-chat-2024-05-29` is as Microsoft's client `@microsoft/ai-chat-protocol` speaks it. Source: the client's own types
and reader, version 1.0. It names the state in camel case, sends it back as it came or not at all, and throws the value
of `error`, which has to be an object with a code.

`ai-chat-2026-04` is the shape that azure-search-openai-demo's front end reads since April 2026. Its records have the
types of OpenAI's Responses API. A request is the same as in `ai-chat`, so that only the route, or
`CHAT_DEFAULT_PROTOCOL`, selects this protocol. Source: azure-search-openai-demo 3f4f43a6 (2026-04-10),
docs/http_protocol.md and app/frontend/src/pages/chat/Chat.tsx.
"""

from collections.abc import Iterable
from copy import replace
from functools import partial

from shared.chat_types import ChatRequest
from shared.core.fold import Answer
from shared.errors import ContentFiltered, SwitchboardError
from shared.events import ChatEvent
from shared.wire import chat_body, consent, framing
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.protocol import QUESTION, Protocol, Record, coded_error_record, error_record


def _state(request: ChatRequest) -> Record:
    """Return the session state, also if it is null: the demo's page stores a chat under its first one."""
    return {"session_state": request.chat.session_state}


def _state_as_it_came(request: ChatRequest) -> Record:
    return {"sessionState": request.chat.session_state} if request.chat.has_session_state else {}


AI_CHAT = Protocol(
    name="ai-chat",
    parse=partial(chat_body.parse_chat, state_key="session_state", gives_session=True),
    answer=lambda request, answer: answer_document(request, answer, _state(request)),
    encoder=lambda request: DeltaEncoder(request, _state(request), error_record),
    framing=framing.NDJSON,
    demo_page=True,
    fails_in_stream=(ContentFiltered,),
)

AI_CHAT_PAGE = replace(AI_CHAT, fails_in_stream=(SwitchboardError,), refuses_in_stream=True)
"""The same below the protocol's own name, from where the demo's page of f71bbdf4 (2024-08-13) to e7dda33d (2026-04-09)
asks: of a status it shows only the number. Programs on the routes without a name read the status."""

AI_CHAT_2024_05_29 = Protocol(
    name="ai-chat-2024-05-29",
    parse=partial(chat_body.parse_chat, state_key="sessionState"),
    answer=lambda request, answer: answer_document(request, answer, _state_as_it_came(request)),
    encoder=lambda request: DeltaEncoder(request, _state_as_it_came(request), coded_error_record),
    error=coded_error_record,
    framing=framing.JSON_LINES,
    example=QUESTION | {"sessionState": None},
    infer=lambda body: "sessionState" in body,
    takes_files=True,
    keeps_chats=True,
    user_agent="ts-http-runtime/",
)

_CONTEXT, _TEXT = "response.context", "response.output_text.delta"


def _typed_answer(request: ChatRequest, answer: Answer) -> Record:
    answer = consent.in_words(request, answer)
    document = answer_document(request, answer, {})
    return {"output_text": answer.text, "context": document["context"], "session_state": request.chat.session_state}


class _TypedEncoder:
    """Encodes an answer as typed records: those of `ai-chat`, each split into its context and its text.

    Every context comes with the session state: the front end takes both from the last record that has sources.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._state = request.chat.session_state
        self._inner = DeltaEncoder(request, {}, error_record)

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        """The records of one event."""
        for record in self._inner.encode(event):
            if "error" in record:
                yield record
            if context := record.get("context"):
                yield {"type": _CONTEXT, "context": context, "session_state": self._state}
            match record:
                case {"delta": {"content": text}, "context": {"agent": agent}}:
                    yield {"type": _TEXT, "delta": text, "agent": agent}
                case {"delta": {"content": text}}:
                    yield {"type": _TEXT, "delta": text}
                case _:
                    pass


AI_CHAT_2026_04 = replace(
    AI_CHAT,
    name="ai-chat-2026-04",
    answer=_typed_answer,
    encoder=_TypedEncoder,
    fails_in_stream=(),  # this page shows the error's sentence
    framing=replace(framing.NDJSON, keep_alive=b'{"type":"response.context","context":{}}\n'),
)
