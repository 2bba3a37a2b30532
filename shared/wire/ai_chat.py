"""`ai-chat`: the AI Chat Protocol without a date, as azure-search-openai-demo spoke it from June 2024 to April 2026.

Source: ai-chat-protocol.
"""

from collections.abc import Mapping
from copy import replace

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.errors import ContentFiltered, SwitchboardError
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.chat_body import parse_chat
from shared.wire.framing import NDJSON
from shared.wire.protocol import Protocol, Record, error_record


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_chat(body, state_key="session_state", gives_session=True)


def _state(request: ChatRequest) -> Record:
    """Return the session state, also if it is null: the demo's page stores a chat under its first one."""
    return {"session_state": request.chat.session_state}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    return answer_document(request, answer, _state(request))


AI_CHAT = Protocol(
    name="ai-chat",
    parse=_parse,
    answer=_answer,
    encoder=lambda request: DeltaEncoder(request, _state(request), error_record),
    framing=NDJSON,
    demo_page=True,
    fails_in_stream=(ContentFiltered,),
)

AI_CHAT_PAGE = replace(AI_CHAT, fails_in_stream=(SwitchboardError,), refuses_in_stream=True)
"""The same below the protocol's own name, from where the demo's page of f71bbdf4 (2024-08-13) to e7dda33d (2026-04-09)
asks: of a status it shows only the number. Programs on the routes without a name read the status."""
