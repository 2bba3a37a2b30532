"""`openai-responses`: OpenAI's Responses, which its SDKs and AI SDK's provider use by default.

Source: OpenAI API reference, 'Responses' and 'Streaming events'; Open Responses, specification of 24 April 2026, whose
schema wants each key of a response, also where a request leaves it open; the rules of the SDKs' stream helpers
(openai-python, `lib/streaming/responses/_responses.py`): a message is announced before its text, each has one id
throughout, and the last event repeats what was sent. A team's answer has a message for each agent.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import replace
from pathlib import Path
from typing import assert_never, cast

import msgspec

from shared import events
from shared.chat_types import ChatRequest, Json, ToolCall
from shared.core.fold import Answer, events_of
from shared.wire.consent import cut_arguments, cut_text
from shared.wire.context import filtered_context
from shared.wire.framing import HOLE, SSE, Framed, one_line
from shared.wire.openai_parts import citations, error_keys, error_object, joined, known, said, sources_context
from shared.wire.openai_request import OpenaiDetails
from shared.wire.openai_responses_body import APPROVAL, parse, sent_files
from shared.wire.openai_responses_references import completed
from shared.wire.parts_encoder import PartsEncoder
from shared.wire.protocol import BETWEEN_MESSAGES, Protocol, Record

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is incomplete, by the reason for which it ended."""
_BEFORE_ANSWER = ("reasoning", "mcp_call")
"""The types of items that are no answer by themselves."""
_LEFT_OPEN: Record = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
"""The keys of a response that its request leaves open, or that the app ignores, with OpenAI's defaults.

`truncation`: of a conversation that is too long, the app leaves out the oldest messages."""
_FRAMING = replace(SSE, names_events=True)


def _answer(request: ChatRequest, answer: Answer) -> Record:
    """A whole answer, as the last event of its stream has it. A team's has its messages in their order."""
    encoder = _Encoder(request)
    *_, last = (record for event in events_of(answer) for record in encoder.encode(event))
    return cast("dict[str, Record]", last)["response"]


class _Encoder(PartsEncoder):
    """Encodes an answer as events: its beginning, each item with its parts, and the whole answer."""

    _failure_ends_parts = False

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._number = 0
        self._output: list[Record] = []
        self._pieces: list[str] = []
        self._place: Record = {}
        self._messages = 0
        self._reasonings = 0
        self._begun_calls: dict[str, int] = {}
        self._delta: Sequence[bytes] = ()
        self._points: tuple[events.DataPoint, ...] = ()
        self._thoughts: list[events.Thought] = []
        self._prompt_filter: Json = None

    def _begin(self) -> Iterator[Record]:
        response = _response(self._request, [], {"status": "in_progress"})
        yield self._event("response.created", response=response)
        yield self._event("response.in_progress", response=response)

    def _ends_by_filter(self) -> bool:
        return bool(self._output) or self._open_part is events.TextDelta

    def _encode_other(self, event: events.ChatEvent) -> Iterator[Record | Framed]:  # noqa: C901 (one case an event)
        match event:
            case events.Retrieved():
                self._points, self._thoughts = joined(event.data_points), [*event.thoughts]
            case events.CompletionStarted():
                self._prompt_filter = event.prompt_filter_results
            case events.AgentMessage():
                self._points = joined(self._points, event.data_points)
                self._thoughts += event.thoughts
                text, points, ended = _said(self._messages, event)
                yield from self._begin_text()
                yield self._add_text(text)
                yield from self._end_message(points, _status(ended))
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
            case events.ToolsCalled():
                for call in event.calls:
                    yield from self._called(call)
            case events.ToolStarted():
                yield from self._begin_call(event)
            case events.ToolEnded():
                yield from self._end_call(event)
            case events.ConsentAsked():
                for item in map(_consent_item, event.calls):
                    yield self._event("response.output_item.added", output_index=len(self._output), item=item)
                    yield self._event("response.output_item.done", output_index=len(self._output), item=item)
                    self._output.append(item)
            case events.FilterAnnotation() | events.AgentWork():
                pass  # the last event has what the filters found in the whole answer
            case events.TextDelta() | events.ReasoningDelta():
                pass  # the base has encoded it
            case events.Finished():
                yield from self._ended(event)
            case events.Failed():
                yield self._failed(event)
            case _:
                assert_never(event)

    def _event(self, name: str, /, **values: Json) -> Record:
        number = self._number
        self._number += 1
        return {"type": name, "sequence_number": number, **values}

    def _begin_text(self) -> Iterator[Record]:
        """Begin a message."""
        self._pieces = []
        item = _item(self._request, self._messages, [], "in_progress")
        self._place = {"item_id": item["id"], "output_index": len(self._output), "content_index": 0}
        yield self._event("response.output_item.added", output_index=len(self._output), item=item)
        yield self._event("response.content_part.added", **self._place, part=_content("", []))
        piece: Record = {"type": "response.output_text.delta", "sequence_number": HOLE, **self._place}
        self._delta = _FRAMING.cut_at_holes({**piece, "delta": HOLE, "logprobs": []})

    def _add_text(self, text: str) -> Framed:
        number = self._number
        self._number += 1
        self._pieces.append(text)
        before, between, after = self._delta
        return b"%b%d%b%b%b" % (before, number, between, one_line(text), after)

    def _end_text(self) -> Iterable[Record | Framed]:
        return self._end_message(self._points, _status(self._finish) if self._finish else "completed")

    def _begin_reasoning(self) -> Iterator[Record]:
        self._pieces = []
        item = _reasoning_item(self._request, [], self._reasonings)
        self._place = {"item_id": item["id"], "output_index": len(self._output), "summary_index": 0}
        yield self._event("response.output_item.added", output_index=len(self._output), item=item)
        yield self._event("response.reasoning_summary_part.added", **self._place, part=_summary(""))

    def _add_reasoning(self, text: str) -> Record:
        self._pieces.append(text)
        return self._event("response.reasoning_summary_text.delta", **self._place, delta=text)

    def _end_reasoning(self) -> Iterator[Record]:
        text = "".join(self._pieces)
        yield self._event("response.reasoning_summary_text.done", **self._place, text=text)
        yield self._event("response.reasoning_summary_part.done", **self._place, part=_summary(text))
        item = _reasoning_item(self._request, [_summary(text)], self._reasonings)
        self._reasonings += 1
        yield self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)

    def _end_message(self, points: Iterable[events.DataPoint], status: str) -> Iterator[Record | Framed]:
        """End the message that has begun."""
        text = "".join(self._pieces)
        annotations = _annotations(self._request, text, points)
        piece: Record = {"type": "response.output_text.annotation.added", "sequence_number": HOLE, **self._place}
        pieces = _FRAMING.cut_at_holes({**piece, "annotation_index": HOLE, "annotation": HOLE})
        for index, one in enumerate(annotations):
            yield b"%b%d%b%d%b%b%b" % (pieces[0], self._number, pieces[1], index, pieces[2], one_line(one), pieces[3])
            self._number += 1
        part, index = _content(text, annotations), len(self._output)
        item = _item(self._request, self._messages, [part], status)
        self._messages += 1
        yield self._event("response.output_text.done", **self._place, text=text, logprobs=[])
        yield self._event("response.content_part.done", **self._place, part=part)
        yield self._event("response.output_item.done", output_index=index, item=item)
        self._output.append(item)

    def _begin_call(self, call: events.ToolStarted | events.ToolEnded) -> Iterator[Record | Framed]:
        """A call of a server's tool, whose place in the output is kept until it ends."""
        item = _servers_call(self._request, call)
        place: Record = {"item_id": item["id"], "output_index": len(self._output)}
        self._begun_calls[call.call_id] = len(self._output)
        self._output.append(item)
        begun = {**item, "arguments": "", "output": None, "error": None, "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=place["output_index"], item=begun)
        yield self._event("response.mcp_call.in_progress", **place)
        yield self._event("response.mcp_call_arguments.delta", **place, delta=item["arguments"])
        yield self._event("response.mcp_call_arguments.done", **place, arguments=item["arguments"])

    def _end_call(self, call: events.ToolEnded) -> Iterator[Record | Framed]:
        if call.call_id not in self._begun_calls:
            yield from self._begin_call(call)
        index, item = self._begun_calls[call.call_id], _servers_call(self._request, call)
        self._output[index] = item
        yield self._event(f"response.mcp_call.{item['status']}", item_id=item["id"], output_index=index)
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _called(self, call: ToolCall) -> Iterator[Record]:
        """A call of a tool, with its arguments in one piece."""
        index = len(self._output)
        item = _call(self._request, index, call)
        place: Record = {"item_id": item["id"], "output_index": index}
        begun = item | {"arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event("response.function_call_arguments.delta", **place, delta=call.arguments)
        yield self._event("response.function_call_arguments.done", **place, name=call.name, arguments=call.arguments)
        yield self._event("response.output_item.done", output_index=index, item=item)
        self._output.append(item)

    def _ended(self, finished: events.Finished) -> Iterator[Record | Framed]:
        if all(item["type"] in _BEFORE_ANSWER for item in self._output):  # every answer has a message
            yield from self._begin_text()
            yield from self._end_message(self._points, _status(finished))
        end = _end(self._request, self._points, self._thoughts, finished, self._prompt_filter)
        yield self._event(f"response.{end['status']}", response=_response(self._request, self._output, end))

    def _failed(self, event: events.Failed) -> Record:
        """OpenAI's reference has the keys in the event, and its SDKs raise only where they are in `error`."""
        error = error_keys(event.error, event.invocation_id)
        return self._event("error", **{key: error[key] for key in ("code", "message", "param")}, error=error)


def _said(place: int, message: events.AgentMessage) -> tuple[str, Sequence[events.DataPoint], events.Finished | None]:
    """The text of an agent's message, its sources, and how it ended. Clients join all texts into one."""
    return f"{BETWEEN_MESSAGES if place else ''}{said(message)}", message.data_points, message.finished


def _status(ended: events.Finished | None) -> str:
    """The status of a message; an agent that failed has not ended."""
    return "completed" if ended and ended.reason not in _INCOMPLETE else "incomplete"


def _annotations(request: ChatRequest, text: str, points: Iterable[events.DataPoint]) -> list[Json]:
    return [{"type": "url_citation", **cited} for cited in citations(request, text, points)]


def _content(text: str, annotations: list[Json]) -> Record:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _item(request: ChatRequest, place: int, content: list[Json], status: str) -> Record:
    """A message of the answer."""
    item_id = f"msg_{request.turn_id}_{place}"
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}


def _call(request: ChatRequest, place: int, call: ToolCall) -> Record:
    """A call of a tool of the caller."""
    item_id = f"fc_{request.turn_id}_{place}"
    named: Record = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"id": item_id, "type": "function_call", "status": "completed", **named}


def _servers_call(request: ChatRequest, call: events.ToolStarted | events.ToolEnded) -> Record:
    """A call of a tool of an MCP server or an API, as far as it has come."""
    ended = call if isinstance(call, events.ToolEnded) else None
    text, is_done = cut_text(ended.text) if ended else None, bool(ended) and ended.status == "done"
    return {
        "id": f"mcp_{request.turn_id}_{call.call_id.removeprefix('call_')[:15]}",  # OpenAI's ids have 64 characters
        "type": "mcp_call",
        "status": "completed" if is_done else "failed" if ended else "in_progress",
        "server_label": call.server,
        "name": call.tool,
        "arguments": cut_arguments(call),
        "output": text if is_done else None,
        "error": None if is_done else text,
        "approval_request_id": f"{APPROVAL}{ended.approval_id}" if ended and ended.approval_id else None,
    }


def _consent_item(call: events.OpenCall) -> Record:
    """A question for consent, which the caller answers with an `mcp_approval_response`."""
    named: Record = {"server_label": call.server, "name": call.tool, "arguments": call.arguments}
    return {"id": f"{APPROVAL}{call.approval_id}", "type": "mcp_approval_request", **named}


def _reasoning_item(request: ChatRequest, summary: list[Json], place: int = 0) -> Record:
    """What the model thought. Clients show the summary of an item: its `content` is for what OpenAI keeps sealed.

    The summary is the text as an item of a list, or empty at the beginning of a stream. `place` such items come before.
    """
    return {"id": f"rs_{request.turn_id}{f'_{place}' if place else ''}", "type": "reasoning", "summary": summary}


def _summary(text: str) -> Record:
    return {"type": "summary_text", "text": text}


def _response(request: ChatRequest, output: Iterable[Record], end: Record) -> Record:
    """The answer so far, with what is known of its end."""
    details, temperature = OpenaiDetails.of(request), request.overrides.temperature
    return {
        "id": f"resp_{request.turn_id}",
        "object": "response",
        "created_at": request.created,
        "model": details.model,
        "output": [*output],
        **_LEFT_OPEN,
        **({} if temperature is None else {"temperature": temperature}),
        **details.repeated,
        "store": request.is_kept,
        "previous_response_id": details.previous,
        "background": request.is_later,
        **end,
    }


def unfinished(request: ChatRequest, status: str, error: Json = None) -> Record:
    """A response that has no answer, or none yet.

    Args:
        request: What was details.
        status: `queued`, `in_progress`, `failed` or `cancelled`.
        error: What went wrong, as `error_object` makes it.
    """
    end: Record = {"status": status}
    match error:
        case {"error": {"message": str(message)}} if status == "failed":
            end["error"] = {"code": "server_error", "message": message}
        case _:
            pass
    return _response(request, [], end)


def _end(
    request: ChatRequest,
    points: Iterable[events.DataPoint],
    thoughts: Sequence[events.Thought],
    finished: events.Finished,
    prompt: Json,
) -> Record:
    """The keys of the answer that are known at its end."""
    reason = _INCOMPLETE.get(finished.reason)
    found = filtered_context(prompt or finished.prompt_filter_results, finished.content_filter_results)
    return {
        "status": "incomplete" if reason else "completed",
        "completed_at": None if reason else max(request.created, finished.ended),  # a clock may have been set back
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": _usage(finished.usage) if finished.usage else None,
        "context": sources_context(request, points, thoughts, finished)
        | found
        | known(unsupported=finished.is_unsupported),
    }


def _usage(usage: events.Usage) -> Record:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


OPENAI_RESPONSES = Protocol(
    name="openai-responses",
    parse=parse,
    sent_files=sent_files,
    completed=completed,
    unfinished=unfinished,
    answer=_answer,
    encoder=_Encoder,
    error=error_object,
    framing=_FRAMING,
    filter_ends=True,
    team_is_one=True,
    example={"model": "switchboard", "input": "What does the Standard plan pay for dental care?"},
)
