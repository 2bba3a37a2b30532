"""`ai-chat`: the AI Chat Protocol without a date, as azure-search-openai-demo's newer front ends speak it.

Source: ai-chat-protocol.
"""

from collections.abc import Mapping

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.chat_body import parse_chat
from shared.wire.framing import NDJSON
from shared.wire.protocol import Protocol, Record, error_record


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_chat(body, state_key="session_state")


def _state(request: ChatRequest) -> Record:
    """The document's examples have the key even when there is no state."""
    return {"session_state": request.session_state}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    return answer_document(answer, _state(request))


AI_CHAT = Protocol(
    name="ai-chat",
    title="AI Chat Protocol",
    parse=_parse,
    answer=_answer,
    encoder=lambda request: DeltaEncoder(_state(request), error_record),
    framing=NDJSON,
)
