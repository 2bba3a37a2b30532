"""`ai-chat-2024-05-29`: the AI Chat Protocol as Microsoft's client `@microsoft/ai-chat-protocol` speaks it.

Source: the client's own types and reader, version 1.0. It names the state in camel case, sends it back as it came or
not at all, and throws the value of `error`, which has to be an object with a code.
"""

from collections.abc import Mapping

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.chat_body import parse_chat
from shared.wire.framing import JSON_LINES
from shared.wire.protocol import QUESTION, Protocol, Record, coded_error_record


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_chat(body, state_key="sessionState")


def _state(request: ChatRequest) -> Record:
    return {"sessionState": request.chat.session_state} if request.chat.has_session_state else {}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    return answer_document(request, answer, _state(request))


AI_CHAT_2024_05_29 = Protocol(
    name="ai-chat-2024-05-29",
    parse=_parse,
    answer=_answer,
    encoder=lambda request: DeltaEncoder(request, _state(request), coded_error_record),
    error=coded_error_record,
    framing=JSON_LINES,
    example=QUESTION | {"sessionState": None},
    infer=lambda body: "sessionState" in body,
    takes_files=True,
    keeps_chats=True,
    user_agent="ts-http-runtime/",
)
