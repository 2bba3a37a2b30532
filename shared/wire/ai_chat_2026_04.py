"""`ai-chat-2026-04`: the shape that azure-search-openai-demo's front end reads since April 2026.

Its records have the types of OpenAI's Responses API. A request is the same as in `ai-chat`, so that only the route, or
`CHAT_DEFAULT_PROTOCOL`, selects this protocol.

Source: azure-search-openai-demo 3f4f43a6 (2026-04-10), docs/http_protocol.md and app/frontend/src/pages/chat/Chat.tsx.
"""

from collections.abc import Iterable
from copy import replace

from shared.chat_types import ChatRequest
from shared.core.fold import Answer
from shared.events import ChatEvent
from shared.wire.ai_chat import AI_CHAT
from shared.wire.ai_chat_records import DeltaEncoder, answer_document
from shared.wire.consent import in_words
from shared.wire.framing import NDJSON
from shared.wire.protocol import Record, error_record

_CONTEXT, _TEXT = "response.context", "response.output_text.delta"


def _answer(request: ChatRequest, answer: Answer) -> Record:
    answer = in_words(request, answer)
    document = answer_document(request, answer, {})
    return {"output_text": answer.text, "context": document["context"], "session_state": request.chat.session_state}


class _Encoder:
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
    answer=_answer,
    encoder=_Encoder,
    fails_in_stream=(),  # this page shows the error's sentence
    framing=replace(NDJSON, keep_alive=b'{"type":"response.context","context":{}}\n'),
)
