"""`openai`: OpenAI's Chat Completions, for its SDKs and the front ends that take any service with its API.

Source: OpenAI API reference, 'Chat completions'; `context` is that of Azure's 'On Your Data'. Clients merge the
chunks of a stream: texts are joined, lists are not, so that `role`, `annotations` and `context` each come once. Each
chunk but that of the tokens has a choice with a delta, since many clients read those unseen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from shared.chat_types import ChatRequest, Json
from shared.core.answering import citations_in
from shared.core.fold import Answer
from shared.errors import ContentFiltered, NotFound, SwitchboardError, error_text
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    DataPoint,
    Failed,
    FilterAnnotation,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
)
from shared.wire.context import link_to, thoughts_json, usage_json
from shared.wire.framing import SSE, encode_json
from shared.wire.openai_body import Asked, OpenaiKeys, OpenaiMessage, attached, parse
from shared.wire.openai_shapes import OpenaiChunk, OpenaiCompletion, OpenaiError
from shared.wire.protocol import BETWEEN_MESSAGES, QUESTION, Protocol, Record, Shape

_REASONS = ("stop", "length", "content_filter")
"""The reasons that clients know, of those that an answer can end for."""
_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


def _answer(request: ChatRequest, answer: Answer) -> Record:
    """A whole answer. A team's is one text of all messages."""
    asked = Asked.of(request)
    text = BETWEEN_MESSAGES.join(map(_said, answer.messages)) if answer.messages else answer.text
    points = _joined(answer.data_points, *(message.data_points for message in answer.messages))
    thoughts = [*answer.thoughts, *(thought for message in answer.messages for thought in message.thoughts)]
    finished = answer.finished
    message: Record = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": [*_annotations(text, points, request.base_url)],
        "context": _context(request, points, thoughts, finished),
    }
    choice: Record = {
        "index": 0,
        "message": message,
        "finish_reason": _reason(finished),
        "logprobs": None,
        **_known(content_filter_results=finished.content_filter_results),
    }
    prompt = answer.completion.prompt_filter_results or finished.prompt_filter_results
    return {
        "id": asked.id,
        "object": "chat.completion",
        "created": asked.created,
        "model": asked.model,
        "choices": [choice],
        **_known(usage=usage_json(finished.usage) if finished.usage else None, prompt_filter_results=prompt),
    }


class _Encoder:
    """Events to chunks: the role, the text, then where it comes from, how it ended and, if asked for, the tokens."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._asked = Asked.of(request)
        self._head: Record = {
            "id": self._asked.id,
            "object": "chat.completion.chunk",
            "created": self._asked.created,
            "model": self._asked.model,
        }
        self._has_begun = False
        self._texts: list[str] = []
        self._points: tuple[DataPoint, ...] = ()
        self._thoughts: list[Thought] = []
        self._prompt_filter: Json = None

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        if self._has_begun:
            return self._records(event)
        self._has_begun = True
        begin = () if isinstance(event, Failed) else (self._chunk({"role": "assistant", "content": ""}),)
        return (*begin, *self._records(event))

    def _records(self, event: ChatEvent) -> Iterable[Record]:
        match event:
            case TextDelta():
                return (self._text(event.text),)
            case Retrieved():
                self._points, self._thoughts = event.data_points, [*event.thoughts]
            case CompletionStarted():
                self._prompt_filter = event.prompt_filter_results
            case AgentMessage():
                self._points = _joined(self._points, event.data_points)
                self._thoughts += event.thoughts
                return (self._text(f"{BETWEEN_MESSAGES if self._texts else ''}{_said(event)}"),)
            case ThoughtsAdded():
                self._thoughts += event.thoughts
            case FilterAnnotation():
                # Azure's own chunk has no delta, and clients that read one break on it.
                results, offsets = event.content_filter_results, event.content_filter_offsets
                return (self._chunk({}, None, content_filter_results=results, content_filter_offsets=offsets),)
            case Finished():
                return self._end(event)
            case Failed():
                return self._failed(event)
            case _:
                assert_never(event)
        return ()

    def _text(self, text: str) -> Record:
        self._texts.append(text)
        return self._chunk({"content": text})

    def _end(self, finished: Finished) -> Iterator[Record]:
        request = self._request
        annotations = [*_annotations("".join(self._texts), self._points, request.base_url)]
        context = _context(request, self._points, self._thoughts, finished)
        yield self._chunk({**_known(annotations=annotations), "context": context})
        prompt = self._prompt_filter or finished.prompt_filter_results
        ended = self._chunk({}, _reason(finished), content_filter_results=finished.content_filter_results)
        yield ended | _known(prompt_filter_results=prompt)
        if self._asked.include_usage and finished.usage:
            yield {**self._head, "choices": [], "usage": usage_json(finished.usage)}

    def _failed(self, event: Failed) -> Iterable[Record]:
        """A filter that ends a text is how an answer of OpenAI's ends, not an error."""
        if isinstance(event.error, ContentFiltered) and self._texts:
            return self._end(Finished(event.error.code, content_filter_results=event.error.results))
        return (_error(event.error, event.invocation_id),)

    def _chunk(self, delta: Record, reason: str | None = None, **more: Json) -> Record:
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, **_known(**more)}]}


def _said(message: AgentMessage) -> str:
    """An agent's part of the text: its name on a line of its own, and what it says."""
    return f"**{message.agent}**\n\n{message.text}"


def _joined(*several: Sequence[DataPoint]) -> tuple[DataPoint, ...]:
    return tuple(dict.fromkeys(point for points in several for point in points))


def _annotations(text: str, points: Iterable[DataPoint], base_url: str) -> Iterator[Json]:
    """Each place of the text that names a source."""
    known = {point.sourcepage for point in points}
    for place in citations_in(text):
        if (name := place[1]) in known:
            start, end = place.span()
            url = link_to(name, base_url)
            cited: Json = {"url": url, "title": name, "start_index": start, "end_index": end}
            yield {"type": "url_citation", "url_citation": cited}


def _context(
    request: ChatRequest, points: Iterable[DataPoint], thoughts: Sequence[Thought], finished: Finished
) -> Record:
    context: Record = {
        "citations": [
            {
                "content": point.text,
                "title": point.sourcepage,
                "url": link_to(point.sourcepage, request.base_url),
                "filepath": point.sourcepage.partition("#page=")[0],
                "chunk_id": str(number),
            }
            for number, point in enumerate(points)
        ]
    }
    if queries := [thought.description for thought in thoughts if thought.title == "Generated search query"]:
        context["intent"] = encode_json(queries).decode()
    if finished.followup_questions is not None:
        context["followup_questions"] = list[Json](finished.followup_questions)
    if Asked.of(request).shows_thoughts:
        context["thoughts"] = thoughts_json(thoughts)
    return context


def _reason(finished: Finished) -> str:
    return finished.reason if finished.reason in _REASONS else "stop"


def _known(**values: Json) -> Record:
    """The values that are not empty."""
    return {key: value for key, value in values.items() if value}


def _error(error: SwitchboardError, invocation_id: str) -> Record:
    """An error object: the SDKs show nothing of an error that is a string."""
    kind = "server_error" if error.status >= 500 else _ERROR_TYPES.get(error.status, "invalid_request_error")
    key, colon, _ = error.message.partition(": ")
    param = key if colon and " " not in key else None
    code = "model_not_found" if isinstance(error, NotFound) and param == "model" else error.code
    record: Record = {"message": error_text(error, invocation_id), "type": kind, "param": param, "code": code}
    if isinstance(error, ContentFiltered):
        record["param"] = "prompt"
        if error.results:
            record["innererror"] = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": error.results}
    return {"error": record}


OPENAI = Protocol(
    name="openai",
    title="OpenAI's Chat Completions",
    used_by="[OpenAI's SDKs](docs/protocols.md#openai), LangChain, Open WebUI, LibreChat, and all that takes a service "
    "with OpenAI's API",
    answers_with="`chat.completion`",
    streams="server-sent events, one `chat.completion.chunk` each, and `[DONE]`",
    parse=parse,
    attached=attached,
    answer=_answer,
    encoder=_Encoder,
    error=_error,
    framing=replace(SSE, end=b"data: [DONE]\n\n"),
    shape=Shape(
        answer=OpenaiCompletion,
        record=OpenaiChunk,
        error=OpenaiError,
        reads=OpenaiKeys,
        message=OpenaiMessage,
        errors=(NotFound,),
        streams_on_demand=True,
        team_is_one=True,
        example={"model": "switchboard", **QUESTION},
    ),
)
