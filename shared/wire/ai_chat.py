"""`ai-chat` and `ai-chat-2024-05-29`: the AI Chat Protocol in its two spellings.

`ai-chat` is the one without a date, as azure-search-openai-demo spoke it from June 2024 to April 2026. Source:
ai-chat-protocol.

`ai-chat-2024-05-29` is as Microsoft's client `@microsoft/ai-chat-protocol` speaks it. Source: the client's own types
and reader, version 1.0. It names the state in camel case, sends it back as it came or not at all, and throws the value
of `error`, which has to be an object with a code.
"""

from copy import replace
from functools import partial

from shared.chat_types import ChatRequest
from shared.errors import ContentFiltered, SwitchboardError
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.chat_body import parse_chat
from shared.wire.framing import JSON_LINES, NDJSON
from shared.wire.protocol import QUESTION, Protocol, Record, coded_error_record, error_record


def _state(request: ChatRequest) -> Record:
    """Return the session state, also if it is null: the demo's page stores a chat under its first one."""
    return {"session_state": request.chat.session_state}


def _state_as_it_came(request: ChatRequest) -> Record:
    return {"sessionState": request.chat.session_state} if request.chat.has_session_state else {}


AI_CHAT = Protocol(
    name="ai-chat",
    parse=partial(parse_chat, state_key="session_state", gives_session=True),
    answer=lambda request, answer: answer_document(request, answer, _state(request)),
    encoder=lambda request: DeltaEncoder(request, _state(request), error_record),
    framing=NDJSON,
    demo_page=True,
    fails_in_stream=(ContentFiltered,),
)

AI_CHAT_PAGE = replace(AI_CHAT, fails_in_stream=(SwitchboardError,), refuses_in_stream=True)
"""The same below the protocol's own name, from where the demo's page of f71bbdf4 (2024-08-13) to e7dda33d (2026-04-09)
asks: of a status it shows only the number. Programs on the routes without a name read the status."""

AI_CHAT_2024_05_29 = Protocol(
    name="ai-chat-2024-05-29",
    parse=partial(parse_chat, state_key="sessionState"),
    answer=lambda request, answer: answer_document(request, answer, _state_as_it_came(request)),
    encoder=lambda request: DeltaEncoder(request, _state_as_it_came(request), coded_error_record),
    error=coded_error_record,
    framing=JSON_LINES,
    example=QUESTION | {"sessionState": None},
    infer=lambda body: "sessionState" in body,
    takes_files=True,
    keeps_chats=True,
    user_agent="ts-http-runtime/",
)
