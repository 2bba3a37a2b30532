"""`ai-chat-2024-01-28`, alias `rag-chat`: OpenAI-style `choices`, whole or streamed as the body says.

Source: ai-chat-http-protocol-2024-01-28 and rag-chat-http-protocol, which agree. They put `context` beside `message` or
`delta`; azure-search-openai-javascript's web component reads it inside, with thoughts as HTML: it is in both places.
"""

from collections.abc import Iterable, Mapping
from copy import replace
from html import escape
from typing import Annotated, Literal, NotRequired, TypedDict, assert_never

import msgspec
from pydantic import Field

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import BadRequest, ContentFiltered, SwitchboardError, error_text
from shared.wire.chat_body import parse_chat
from shared.wire.consent import asked_in_words, ended_in_words, in_words
from shared.wire.context import (
    Context,
    FilterOffsets,
    FilterResults,
    SessionState,
    ShownContext,
    Usage,
    agent_context,
    answer_context,
    finished_context,
    retrieved_context,
    takes_plain_images,
    thoughts_json,
    usage_json,
)
from shared.wire.framing import NDJSON, encode_json
from shared.wire.protocol import BETWEEN_MESSAGES, QUESTION, Protocol, Record, Shape

_CHUNK = "chat.completion.chunk"


class ChoiceMessage(TypedDict):
    """The answer's text, in OpenAI's shape, with its context."""

    content: str
    function_call: None
    role: Literal["assistant"]
    tool_calls: None
    context: ShownContext


class ChoiceDelta(TypedDict, total=False):
    """A piece of the answer, in OpenAI's shape."""

    content: Annotated[str | None, Field(description="The next piece of the text.")]
    function_call: None
    role: Literal["assistant"]
    tool_calls: None
    context: ShownContext


class Choice(TypedDict):
    """The answer. There is one choice."""

    message: ChoiceMessage
    finish_reason: str | None
    index: int
    content_filter_results: NotRequired[FilterResults]
    context: Context
    session_state: SessionState


class ChunkChoice(TypedDict):
    """The part of the answer in one record."""

    delta: ChoiceDelta
    finish_reason: str | None
    index: int
    context: NotRequired[Context]
    session_state: NotRequired[SessionState]
    content_filter_results: NotRequired[FilterResults]
    content_filter_offsets: NotRequired[FilterOffsets]


_Created = Annotated[int, Field(description="When the model began, in Unix seconds.")]


class AiChat20240128Answer(TypedDict):
    """A whole answer."""

    choices: list[Choice]
    created: _Created
    id: str
    model: str
    system_fingerprint: str | None
    object: Literal["chat.completion"]
    prompt_filter_results: NotRequired[FilterResults]
    usage: Usage | None
    total_usage: NotRequired[Usage]


class AiChat20240128Chunk(TypedDict):
    """A record of a streamed answer. The model's keys are in those after its start."""

    choices: list[ChunkChoice]
    created: NotRequired[_Created]
    id: NotRequired[str]
    model: NotRequired[str]
    system_fingerprint: NotRequired[str | None]
    object: Literal["chat.completion.chunk"]
    prompt_filter_results: NotRequired[FilterResults]
    usage: NotRequired[Usage]


class AiChat20240128Extras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState
    stream: Annotated[bool | None, Field(description="Whether to stream the answer.")]


class ErrorWithStatus(TypedDict):
    """An error, twice, and its status."""

    error: str
    message: str
    statusCode: int


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    stream = body.get("stream")
    if not (stream is None or isinstance(stream, bool)):
        raise BadRequest("stream: should be true or false.")
    return replace(parse_chat(body, state_key="session_state"), stream=bool(stream))


def _answer(request: ChatRequest, answer: Answer) -> Record:
    """A whole answer, with the keys of the document's table."""
    answer = in_words(request, answer)
    context = answer_context(request, answer, plain_images=takes_plain_images(request))
    finished, completion = answer.finished, answer.completion
    prompt_filter = completion.prompt_filter_results or finished.prompt_filter_results
    total = answer.message.total_usage if answer.message else None
    message: Record = {"content": answer.text, "function_call": None, "role": "assistant", "tool_calls": None}
    message["context"] = _shown(context)
    choice: Record = {
        "message": message,
        "finish_reason": finished.reason,
        "index": 0,
        **_filter_results("content_filter_results", finished.content_filter_results),
        "context": context,
        "session_state": request.chat.session_state,
    }
    return {
        "choices": [choice],
        **_completion(completion),
        "object": "chat.completion",
        **_filter_results("prompt_filter_results", prompt_filter),
        "usage": usage_json(finished.usage) if finished.usage else None,
        **({"total_usage": usage_json(total)} if total else {}),
    }


class _Encoder:
    """Events to chunks. Until the model has begun, a chunk has none of the keys that its service gives.

    Clients join the texts and take a chunk with sources for nothing else. So what an agent of a team says is a chunk
    with its sources and those before, and a chunk with its text; how the whole ended is in the last one.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._state: Record = {"session_state": request.chat.session_state}
        self._plain_images = takes_plain_images(request)
        self._data_points: tuple[events.DataPoint, ...] = ()
        self._thoughts: tuple[events.Thought, ...] = ()
        self._turn = events.CompletionStarted("", 0, "")
        self._completion: Record = {}
        self._has_message = False
        self._open: tuple[events.OpenCall, ...] = ()

    def encode(self, event: events.ChatEvent) -> Iterable[Record]:  # noqa: C901 (one case an event)
        match event:
            case events.TextDelta():
                self._has_message = True
                return (self._chunk({"delta": {"content": event.text}}),)
            case events.Retrieved():
                self._thoughts = event.thoughts
                context = retrieved_context(
                    self._request, event.data_points, event.thoughts, event.images, plain_images=self._plain_images
                )
                return (self._with_context(context, self._state),)
            case events.CompletionStarted():
                self._turn = event
                self._completion = _completion(event)
                delta: Record = {"content": None, "function_call": None, "role": "assistant", "tool_calls": None}
                prompt_filter = _filter_results("prompt_filter_results", event.prompt_filter_results)
                return (self._chunk({"delta": delta}) | prompt_filter,)
            case events.AgentMessage():
                return self._said(event)
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
                return (self._with_context({"thoughts": thoughts_json(self._thoughts)}),)
            case events.Finished():
                return self._last(ended_in_words(event, self._open))
            case events.FilterAnnotation():
                # The service's own chunk has no delta, and clients that read one break on it.
                return (self._chunk({"delta": {}, **_annotation(event)}),)
            case events.Failed():
                return self._failed(event)
            case events.ConsentAsked():
                return self._ask(event)
            case (
                events.Progress()
                | events.ReasoningDelta()
                | events.ToolsCalled()
                | events.ToolStarted()
                | events.ToolEnded()
            ):
                return ()  # they have no place here; thoughts have the reasoning and the calls
            case _:
                assert_never(event)

    def _said(self, event: events.AgentMessage) -> Iterable[Record]:
        if self._has_message:
            yield self._chunk({"delta": {"content": BETWEEN_MESSAGES}})
        self._data_points = tuple(dict.fromkeys((*self._data_points, *event.data_points)))
        self._thoughts += event.thoughts
        agent, part = agent_context(event), agent_answer(event, self._turn)
        sources = agent | retrieved_context(self._request, self._data_points, self._thoughts)
        yield self._with_context(sources, None if self._has_message else self._state)
        context = agent | finished_context(part.completion.model, part.finished)
        filtered = _filter_results("content_filter_results", part.finished.content_filter_results)
        delta: Record = {"role": "assistant", "content": event.text, "context": context}
        own = event.completion.prompt_filter_results if event.completion else None
        prompt_filter = _filter_results("prompt_filter_results", own)
        yield self._chunk({"delta": delta, "context": context, **filtered}) | prompt_filter
        self._has_message = True

    def _ask(self, asked: events.ConsentAsked) -> Iterable[Record]:
        self._open = asked.calls
        said = asked_in_words(self._request, asked, has_text=self._has_message)
        return [record for event in said for record in self.encode(event)]

    def _last(self, event: events.Finished) -> Iterable[Record]:
        filtered = _filter_results("content_filter_results", event.content_filter_results)
        known = self._turn.prompt_filter_results
        prompt_filter = _filter_results("prompt_filter_results", None if known else event.prompt_filter_results)
        usage: Record = {"usage": usage_json(event.usage)} if event.usage else {}
        yield self._chunk({"delta": {}, "finish_reason": event.reason, **filtered}) | prompt_filter | usage
        if event.followup_questions is not None:
            yield self._with_context({"followup_questions": list[Json](event.followup_questions)})

    def _failed(self, event: events.Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered):
            filtered = _filter_results("content_filter_results", event.error.results)
            yield self._chunk({"delta": {}, "finish_reason": event.error.code, **filtered})
        yield _error(event.error, event.invocation_id)

    def _with_context(self, context: Record, more: Record | None = None) -> Record:
        delta: Record = {"role": "assistant", "context": _shown(context)}
        return self._chunk({"delta": delta, "context": context, **(more or {})})

    def _chunk(self, choice: Record) -> Record:
        return {"choices": [{"finish_reason": None, "index": 0, **choice}], **self._completion, "object": _CHUNK}


def _completion(started: events.CompletionStarted) -> Record:
    return {
        "created": started.created,
        "id": started.id,
        "model": started.model,
        "system_fingerprint": started.system_fingerprint,
    }


def _shown(context: Record) -> Record:
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
                else msgspec.json.format(encode_json(said)).decode()
                if said is not None
                else ""
            )
            return f'<b>{escape(title)}</b><div style="white-space: pre-wrap">{escape(text)}</div><br>'
        case _:
            return ""


def _filter_results(key: str, results: Json) -> Record:
    """Filter results under this key, if there are any."""
    return {key: results} if results else {}


def _annotation(event: events.FilterAnnotation) -> Record:
    return {
        "content_filter_results": event.content_filter_results,
        "content_filter_offsets": event.content_filter_offsets,
    }


def _error(error: SwitchboardError, invocation_id: str) -> Record:
    """The document has `error` as a string; the web component reads `message` and `statusCode` beside it."""
    text = error_text(error, invocation_id)
    return {"error": text, "message": text, "statusCode": error.status}


_KEEP_ALIVE = b'{"choices":[{"finish_reason":null,"index":0,"delta":{}}],"object":"chat.completion.chunk"}\n'

AI_CHAT_2024_01_28 = Protocol(
    name="ai-chat-2024-01-28",
    aliases=("rag-chat",),
    title="AI Chat Protocol 2024-01-28, RAG Chat Protocol",
    used_by="OpenAI-style `choices`: azure-search-openai-javascript's "
    "[web component](docs/protocols.md#azure-search-openai-javascripts-web-component), not streamed; "
    "[azure-search-openai-demo](docs/protocols.md#azure-search-openai-demo) until June 2024",
    answers_with="OpenAI-style `choices[0].message`",
    streams="`choices[0].delta` as NDJSON, `application/json-lines`",
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    error=_error,
    framing=replace(NDJSON, keep_alive=_KEEP_ALIVE),
    demo_page=True,
    shape=Shape(
        answer=AiChat20240128Answer,
        record=AiChat20240128Chunk,
        error=ErrorWithStatus,
        reads=AiChat20240128Extras,
        streams_on_demand=True,
        example=QUESTION | {"stream": False},
    ),
    infer=lambda body: isinstance(body.get("stream"), bool),
)
