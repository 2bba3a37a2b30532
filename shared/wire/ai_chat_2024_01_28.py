"""`ai-chat-2024-01-28`, alias `rag-chat`: OpenAI-style `choices`, whole or streamed as the body says.

Source: ai-chat-http-protocol-2024-01-28 and rag-chat-http-protocol, which agree. They put `context` beside `message` or
`delta`; azure-search-openai-javascript's web component reads it inside, with thoughts as HTML: it is in both places.
"""

from collections.abc import Iterable, Mapping
from copy import replace
from html import escape

import msgspec

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.errors import BadRequest, SwitchboardError, error_text
from shared.wire import chat_body, consent, framing
from shared.wire.ai_chat_records import AiChatEncoder
from shared.wire.context import answer_context, filtered_context, finished_context, takes_plain_images, usage_json
from shared.wire.protocol import QUESTION, Protocol, Record

_CHUNK = "chat.completion.chunk"


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    stream = body.get("stream")
    if not (stream is None or isinstance(stream, bool)):
        raise BadRequest("stream: should be true or false.")
    return replace(chat_body.parse_chat(body, state_key="session_state"), stream=bool(stream))


def _answer(request: ChatRequest, answer: Answer) -> Record:
    """A whole answer, with the keys of the document's table."""
    answer = consent.in_words(request, answer)
    context = answer_context(request, answer, plain_images=takes_plain_images(request))
    finished, completion = answer.finished, answer.completion
    prompt_filter = completion.prompt_filter_results or finished.prompt_filter_results
    total = answer.message.total_usage if answer.message else None
    message: Record = {"content": answer.text, "function_call": None, "role": "assistant", "tool_calls": None}
    message["context"] = _with_html_thoughts(context)
    choice: Record = {
        "message": message,
        "finish_reason": finished.reason,
        "index": 0,
        **filtered_context(answer=finished.content_filter_results),
        "context": context,
        "session_state": request.chat.session_state,
    }
    return {
        "choices": [choice],
        **_completion(completion),
        "object": "chat.completion",
        **filtered_context(prompt_filter),
        "usage": usage_json(finished.usage) if finished.usage else None,
        **({"total_usage": usage_json(total)} if total else {}),
    }


class _Encoder(AiChatEncoder):
    """Encodes an answer as chunks. Until the model has begun, a chunk has none of the keys that its service gives.

    What an agent of a team says is a chunk with its sources and those before, and a chunk with its text; how the whole
    ended is in the last one.
    """

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request, _error)
        self._completion: Record = {}

    def _begin(self, started: events.CompletionStarted) -> Iterable[Record]:
        self._completion = _completion(started)
        delta: Record = {"content": None, "function_call": None, "role": "assistant", "tool_calls": None}
        choice: Record = {"delta": delta}
        if started.prompt_filter_results:
            choice["content_filter_results"] = {}
        return (self._chunk(choice) | filtered_context(started.prompt_filter_results),)

    def _text(self, text: str) -> Record:
        return self._chunk({"delta": {"content": text}, **self._filtered})

    def _context(self, context: Record) -> Record:
        return self._sources(context, has_state=False)

    def _sources(self, context: Record, *, has_state: bool) -> Record:
        state: Record = {"session_state": self._request.chat.session_state} if has_state else {}
        delta: Record = {"role": "assistant", "context": _with_html_thoughts(context)}
        return self._chunk({"delta": delta, "context": context, **state})

    def _annotation(self, event: events.FilterAnnotation) -> Record:
        # The service's own chunk has no delta, and clients that read one break on it.
        results, offsets = event.content_filter_results, event.content_filter_offsets
        return self._chunk({"delta": {}, "content_filter_results": results, "content_filter_offsets": offsets})

    def _agents_text(self, message: events.AgentMessage, part: Answer, agent: Record) -> Record:
        context = agent | finished_context(part.completion.model, part.finished)
        filtered = filtered_context(answer=part.finished.content_filter_results)
        delta: Record = {"role": "assistant", "content": message.text, "context": context}
        own = message.completion.prompt_filter_results if message.completion else None
        prompt_filter = filtered_context(own)
        return self._chunk({"delta": delta, "context": context, **filtered}) | prompt_filter

    def _end(self, finished: events.Finished) -> Record:
        filtered = filtered_context(answer=finished.content_filter_results)
        known = self._turn.prompt_filter_results
        prompt_filter = filtered_context(None if known else finished.prompt_filter_results)
        usage: Record = {"usage": usage_json(finished.usage)} if finished.usage else {}
        return self._chunk({"delta": {}, "finish_reason": finished.reason, **filtered}) | prompt_filter | usage

    def _chunk(self, choice: Record) -> Record:
        return {"choices": [{"finish_reason": None, "index": 0, **choice}], **self._completion, "object": _CHUNK}


def _completion(started: events.CompletionStarted) -> Record:
    return {
        "created": started.created,
        "id": started.id,
        "model": started.model,
        "system_fingerprint": started.system_fingerprint,
    }


def _with_html_thoughts(context: Record) -> Record:
    """The context as the web component puts it into its page: its thoughts are one HTML text.

    Source: azure-search-openai-javascript 6b50475 (2025-10-03), packages/search/src/plugins/schemas.ts, `thoughts`;
    packages/chat-component/src/components/chat-debug-thought-process.ts.
    """
    thoughts = context.get("thoughts")
    return context | {"thoughts": "".join(map(_thought_html, thoughts))} if isinstance(thoughts, list) else context


def _thought_html(thought: Json) -> str:
    """One thought; all of it is escaped, since it has words of the user and of documents."""
    match thought:
        case {"title": str(title), "description": said}:
            text = (
                said
                if isinstance(said, str)
                else msgspec.json.format(framing.encode_json(said)).decode()
                if said is not None
                else ""
            )
            return f'<b>{escape(title)}</b><div style="white-space: pre-wrap">{escape(text)}</div><br>'
        case _:
            return ""


def _error(error: SwitchboardError, invocation_id: str) -> Record:
    """The document has `error` as a string; the web component reads `message` and `statusCode` beside it."""
    text = error_text(error, invocation_id)
    return {"error": text, "message": text, "statusCode": error.status}


_KEEP_ALIVE = b'{"choices":[{"finish_reason":null,"index":0,"delta":{}}],"object":"chat.completion.chunk"}\n'

AI_CHAT_2024_01_28 = Protocol(
    name="ai-chat-2024-01-28",
    aliases=("rag-chat",),
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    error=_error,
    framing=replace(framing.NDJSON, keep_alive=_KEEP_ALIVE),
    demo_page=True,
    example=QUESTION | {"stream": False},
    infer=lambda body: isinstance(body.get("stream"), bool),
)
