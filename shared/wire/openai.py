"""`openai`: OpenAI's Chat Completions, for its SDKs and the front ends that take any service with its API.

Source: OpenAI API reference, 'Chat completions'; `context` is that of Azure's 'On Your Data'. Clients merge the
chunks of a stream: texts are joined, lists are not, so that `role`, `annotations` and `context` each come once. Each
chunk but that of the tokens has a choice with a delta, since many clients read those unseen.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from shared import events
from shared.chat_types import ChatRequest, Json, ToolCall
from shared.core.fold import Answer, ended_by, notice_of
from shared.errors import ContentFiltered
from shared.wire.consent import consent_events, ended_in_words, in_words
from shared.wire.context import texts_by_source, usage_json
from shared.wire.framing import HOLE, SSE_OPENAI, Framed, one_line
from shared.wire.openai_body import parse, sent_files
from shared.wire.openai_parts import citations, error_object, gathered, joined, known, said, sources_context
from shared.wire.openai_request import OpenaiDetails
from shared.wire.protocol import BETWEEN_MESSAGES, QUESTION, Protocol, Record
from shared.wire.tools_body import tagged

_REASONS = ("stop", "length", "content_filter", "tool_calls")
"""The reasons that clients know, of those that an answer can end for."""


def completion(request: ChatRequest, answer: Answer) -> Record:
    """Make the document of a whole answer. A team's is one text of all messages."""
    answer, details = in_words(request, answer), OpenaiDetails.of(request)
    text = BETWEEN_MESSAGES.join(map(said, answer.messages)) + answer.text
    points, thoughts = gathered(answer)
    finished = answer.finished
    message: Record = {
        "role": "assistant",
        "content": text or (None if answer.calls else ""),
        **known(reasoning_content=answer.reasoning),
        "refusal": None,
        **known(tool_calls=list[Json](map(_call, answer.calls))),
        "annotations": _annotations(citations(request, text, points)),
        "context": sources_context(request, points, thoughts, finished),
    }
    choice: Record = {
        "index": 0,
        "message": message,
        "finish_reason": _reason(finished),
        "logprobs": None,
        **known(content_filter_results=finished.content_filter_results, unsupported=finished.is_unsupported),
    }
    prompt = answer.completion.prompt_filter_results or finished.prompt_filter_results
    return {
        "id": f"chatcmpl-{request.answer_id}",
        "object": "chat.completion",
        "created": request.created,
        "model": details.model,
        "choices": [choice],
        **known(usage=_usage(finished.usage), prompt_filter_results=prompt),
    }


class ChunksEncoder:
    """Encodes an answer as chunks: the role, the text, its sources, how it ended and, if requested, the tokens."""

    object = "chat.completion.chunk"
    """What chunks say that they are."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._details = OpenaiDetails.of(request)
        self._head: Record = {
            "id": f"chatcmpl-{request.answer_id}",
            "object": self.object,
            "created": request.created,
            "model": self._details.model,
        }
        self._before_text, self._after_text = SSE_OPENAI.cut_at_holes(self._chunk({"content": HOLE}))
        self._has_begun = False
        self._texts: list[str] = []
        self._open: tuple[events.OpenCall, ...] = ()
        self._points: tuple[events.DataPoint, ...] = ()
        self._thoughts: list[events.Thought] = []
        self._prompt_filter: Json = None

    def encode(self, event: events.ChatEvent) -> Iterable[Record | Framed]:
        """Return the chunks of an event."""
        if self._has_begun:  # the first line is for speed: most events are tokens
            return (self._text(event.text),) if isinstance(event, events.TextDelta) else self._records(event)
        self._has_begun = True
        begin = () if isinstance(event, events.Failed) else (self._chunk({"role": "assistant", "content": ""}),)
        return (*begin, *self._records(event))

    def _records(self, event: events.ChatEvent) -> Iterable[Record | Framed]:  # noqa: C901 (one case an event)
        match event:
            case events.TextDelta():
                return (self._text(event.text),)
            case events.ReasoningDelta():
                return (self._chunk({"reasoning_content": event.text}),)
            case events.Retrieved():
                self._points, self._thoughts = event.data_points, [*event.thoughts]
            case events.CompletionStarted():
                self._prompt_filter = event.prompt_filter_results
            case events.AgentMessage():
                self._points = joined(self._points, event.data_points)
                self._thoughts += event.thoughts
                return (self._text(f"{BETWEEN_MESSAGES if self._texts else ''}{said(event)}"),)
            case events.ToolsCalled():
                return self._called(event.calls)
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
            case events.FilterAnnotation(content_filter_offsets=None):
                pass  # its clients read the results of the whole answer, if any
            case events.FilterAnnotation():
                # Azure's own chunk has no delta, and clients that read one break on it.
                results, offsets = event.content_filter_results, event.content_filter_offsets
                return (self._chunk({}, None, content_filter_results=results, content_filter_offsets=offsets),)
            case events.Finished():
                return self._end(ended_in_words(event, self._open))
            case events.Failed():
                return self._failed(event)
            case events.ConsentAsked():
                self._open = event.calls
                asked = consent_events(self._request, event, has_text=bool(self._texts))
                return [record for one in asked for record in self._records(one)]
            case events.AgentWork() | events.ToolStarted() | events.ToolEnded():
                pass  # clients run the calls that they see, and call the model again
            case _:
                assert_never(event)
        return ()

    def _text(self, text: str) -> Framed:
        self._texts.append(text)
        return self._before_text + one_line(text) + self._after_text

    def _called(self, calls: Iterable[ToolCall]) -> Iterator[Record]:
        """The beginning of each call, and its arguments: clients join the pieces of those with the same index."""
        for index, call in enumerate(calls):
            begin: Record = {"name": call.name, "arguments": ""}
            yield self._chunk({"tool_calls": [{"index": index, **_call(call), "function": begin}]})
            yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": call.arguments}}]})

    def _end(self, finished: events.Finished) -> Iterator[Record | Framed]:
        request = self._request
        if notice := notice_of(finished, request):
            yield self._text(notice)
        cited = [*citations(request, "".join(self._texts), self._points)]
        context = sources_context(request, self._points, self._thoughts, finished)
        where = self._chunk({**known(annotations=_annotations(cited)), "context": context})
        yield where | known(event=_listed(cited, self._points))
        prompt = self._prompt_filter or finished.prompt_filter_results
        found, mark = finished.content_filter_results, finished.is_unsupported
        ended = self._chunk({}, _reason(finished), content_filter_results=found, unsupported=mark)
        yield ended | known(prompt_filter_results=prompt)
        if self._details.include_usage and finished.usage:
            yield {**self._head, "choices": [], "usage": _usage(finished.usage)}

    def _failed(self, event: events.Failed) -> Iterable[Record | Framed]:
        """A filter that ends a text is how an answer of OpenAI's ends, not an error."""
        if isinstance(event.error, ContentFiltered) and self._texts:
            return self._end(ended_by(event.error))
        return (error_object(event.error, event.invocation_id),)

    def _chunk(self, delta: Record, reason: str | None = None, **more: Json) -> Record:
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, **known(**more)}]}


def _call(call: ToolCall) -> Record:
    function: Record = {"name": call.name, "arguments": call.arguments}
    made: Record = {"id": tagged(call), "type": "function", "function": function}
    return made | {key: call.beside[key] for key in ("extra_content", "thought_signature") if key in call.beside}


def _usage(usage: events.Usage | None) -> Json:
    details: Json = {"reasoning_tokens": usage.reasoning_tokens} if usage else {}
    return usage_json(usage) | {"completion_tokens_details": details} if usage else None


def _annotations(cited: Iterable[Record]) -> list[Json]:
    return [{"type": "url_citation", "url_citation": each} for each in cited]


def _listed(cited: Iterable[Record], points: Iterable[events.DataPoint]) -> Json:
    """The cited sources as Open WebUI lists them with their titles: of an annotation it shows the URL in their place.

    Source: Open WebUI 0.12.4, `event` in utils/middleware.py, and `external` where its page lists sources.
    """
    texts = texts_by_source(points)
    urls = {str(each["title"]): each["url"] for each in cited}
    listed: list[Json] = [{"source": url, "name": title, "external": True} for title, url in urls.items()]
    document: list[Json] = [texts[title] for title in urls]
    data: Record = {"source": {"name": "Sources"}, "document": document, "metadata": listed}
    return {"type": "source", "data": data} if urls else None


def _reason(finished: events.Finished) -> str:
    return finished.reason if finished.reason in _REASONS else "stop"


OPENAI = Protocol(
    name="openai",
    parse=parse,
    sent_files=sent_files,
    answer=completion,
    encoder=ChunksEncoder,
    error=error_object,
    filter_ends=True,
    framing=SSE_OPENAI,
    team_is_one=True,
    example={"model": "switchboard", **QUESTION},
)
