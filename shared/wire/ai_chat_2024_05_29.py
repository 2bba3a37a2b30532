"""`ai-chat-2024-05-29`: the AI Chat Protocol as Microsoft's client `@microsoft/ai-chat-protocol` speaks it.

Source: the client's own types and reader, version 1.0. It names the state in camel case, sends it back as it came or
not at all, and throws the value of `error`, which has to be an object with a code.
"""

from collections.abc import Mapping

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.errors import SwitchboardError
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.chat_body import parse_chat
from shared.wire.framing import JSON_LINES
from shared.wire.protocol import Protocol, Record, error_text


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_chat(body, state_key="sessionState")


def _state(request: ChatRequest) -> Record:
    return {"sessionState": request.session_state} if request.has_session_state else {}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    return answer_document(answer, _state(request))


def _error(error: SwitchboardError, invocation_id: str) -> Record:
    return {"error": {"code": error.code, "message": error_text(error, invocation_id)}}


AI_CHAT_2024_05_29 = Protocol(
    name="ai-chat-2024-05-29",
    title="AI Chat Protocol 2024-05-29",
    parse=_parse,
    answer=_answer,
    encoder=lambda request: DeltaEncoder(_state(request), _error),
    error=_error,
    framing=JSON_LINES,
    infer=lambda body: "sessionState" in body,
    takes_files=True,
)
