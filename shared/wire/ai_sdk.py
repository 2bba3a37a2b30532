"""`ai-sdk`: the UI message stream of Vercel's AI SDK, which `useChat` and what is built on it read.

Source: `ai` 5.0.92 to 7.0.173, `ui-message-stream/ui-message-chunks.ts` and `ui/process-ui-message-stream.ts`. Some
versions end the answer at a record with a key that they do not know, and all at null: so a record has the keys that all
know, and only those that have a value.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from pydantic_core import from_json

from shared import events
from shared.chat_types import ChatRequest, Json, ToolCall
from shared.citations import citations_in
from shared.errors import ContentFiltered, error_text
from shared.wire.ai_sdk_body import AiSdkDetails, parse, sent_files
from shared.wire.consent import PAUSED, arguments_of, consent_text, cut_text, question, title_of
from shared.wire.context import input_output_tokens, link_to, texts_by_source, thoughts_json
from shared.wire.framing import HOLE, SSE_DONE, Framed, one_line
from shared.wire.parts_encoder import PartsEncoder
from shared.wire.protocol import Protocol, Record

_REASONS = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_calls": "tool-calls",
    PAUSED: "tool-calls",
}
_HERE: Record = {"dynamic": True, "providerExecuted": True}
_TEXT_ID = "0"
_REASONING_ID = "reasoning"
_BEFORE_TEXT, _AFTER_TEXT = SSE_DONE.cut_at_holes({"type": "text-delta", "id": _TEXT_ID, "delta": HOLE})
_QUESTION = "What does the Standard plan pay for dental care?"


class _Encoder(PartsEncoder):
    """Encodes an answer as one message, with a step for its text or, in a team's answer, for each agent."""

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._base_url = request.base_url
        self._details = AiSdkDetails.of(request)
        # Clients replace an earlier answer with the same id, and go on with the one whose tools they answered.
        self._id = self._details.goes_on or f"msg_{request.answer_id}"
        self._in_step = False
        self._begun_calls = {*self._details.calls}
        self._sources = {*self._details.sources}
        self._points: Sequence[events.DataPoint] = ()
        self._texts: list[str] = []
        self._thoughts: list[events.Thought] = []
        self._turn = events.CompletionStarted("", 0, "")

    def _begin(self) -> Iterable[Record]:
        return ({"type": "start", "messageId": self._id},)

    def _begin_text(self) -> Iterator[Record]:
        yield from self._begin_step()
        yield {"type": "text-start", "id": _TEXT_ID}

    def _add_text(self, text: str) -> Framed:
        self._texts.append(text)
        return _BEFORE_TEXT + one_line(text) + _AFTER_TEXT

    def _end_text(self) -> Iterator[Record]:
        yield {"type": "text-end", "id": _TEXT_ID}
        yield from self._cited("".join(self._texts), self._points)

    def _begin_reasoning(self) -> Iterator[Record]:
        yield from self._begin_step()
        yield {"type": "reasoning-start", "id": _REASONING_ID}

    def _add_reasoning(self, text: str) -> Record:
        return {"type": "reasoning-delta", "id": _REASONING_ID, "delta": text}

    def _end_reasoning(self) -> Iterable[Record]:
        return ({"type": "reasoning-end", "id": _REASONING_ID},)

    def _ends_by_filter(self) -> bool:
        return self._open_part is events.TextDelta

    def _encode_other(self, event: events.ChatEvent) -> Iterator[Record | Framed]:  # noqa: C901 (one case an event)
        match event:
            case events.Retrieved():
                yield from self._begin_step()
                self._points, self._thoughts = event.data_points, []
                found: list[Json] = [{"sourceId": name, "url": url} for name, url in self._links(self._points).items()]
                if found:
                    yield {"type": "data-sources", "id": "turn", "data": found}
                yield from self._more_thoughts(event.thoughts)
            case events.CompletionStarted():
                self._turn = event
            case events.ThoughtsAdded():
                yield from self._more_thoughts(event.thoughts)
            case events.AgentMessage():
                yield from self._message(event)
            case events.ToolsCalled():
                yield from self._called(event.calls)
            case events.ToolStarted():
                if event.call_id not in self._begun_calls:
                    yield from self._begin_call(event)
            case events.ToolEnded():
                yield from self._end_call(event)
            case events.ConsentAsked():
                yield from self._ask(event)
            case events.FilterAnnotation() | events.AgentWork():
                pass  # the results of the whole text are in the metadata at the end
            case events.TextDelta() | events.ReasoningDelta():
                pass  # the base has encoded it
            case events.Finished():
                yield from self._end(event)
            case events.Failed():
                yield {"type": "error", "errorText": error_text(event.error, event.invocation_id)}
            case _:
                assert_never(event)

    def _end_step(self) -> Iterator[Record]:
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _begin_step(self) -> Iterator[Record]:
        if not self._in_step:
            self._in_step = True
            yield {"type": "start-step"}

    def _links(self, points: Iterable[events.DataPoint]) -> dict[str, Json]:
        return {point.sourcepage: link_to(point.sourcepage, self._base_url) for point in points}

    def _cited(self, text: str, points: Sequence[events.DataPoint]) -> Iterator[Record]:
        """Encode the sources that a text cites, if they have not been sent. Pages list all that they get."""
        links, texts = self._links(points), texts_by_source(points)
        for place in citations_in(text):
            name = place[1]
            if name in links and name not in self._sources:
                self._sources.add(name)
                source: Record = {"type": "source-url", "sourceId": name, "url": links[name], "title": name}
                source["providerMetadata"] = {"switchboard": {"text": texts[name]}}
                yield source

    def _more_thoughts(self, thoughts: Sequence[events.Thought]) -> Iterator[Record]:
        """Send all thoughts of the turn so far: they replace those sent before, since the part has the same id."""
        self._thoughts += thoughts
        yield from self._thoughts_part("turn", self._thoughts if thoughts else ())

    def _thoughts_part(self, part: str, thoughts: Sequence[events.Thought]) -> Iterator[Record]:
        if thoughts and self._details.shows_thoughts:
            yield {"type": "data-thoughts", "id": part, "data": thoughts_json(thoughts)}

    def _message(self, message: events.AgentMessage) -> Iterator[Record]:
        """Encode the message of one agent as a step."""
        part = str(message.position)
        agent: Record = {"name": message.agent}
        prompt = message.completion.prompt_filter_results if message.completion else None
        found = message.finished.content_filter_results if message.finished else None
        if error := message.error:
            agent["error"] = error.code
            found = error.results if isinstance(error, ContentFiltered) else None
        yield from self._end_step()
        yield {"type": "start-step"}
        yield {"type": "data-agent", "id": part, "data": agent | _filtered(prompt, found)}
        yield from self._thoughts_part(part, message.thoughts)
        yield {"type": "text-start", "id": part}
        yield {"type": "text-delta", "id": part, "delta": message.text}
        yield {"type": "text-end", "id": part}
        yield from self._cited(message.text, message.data_points)
        yield {"type": "finish-step"}

    def _begin_call(self, call: events.ToolStarted | events.ToolEnded | events.OpenCall) -> Iterator[Record]:
        """Encode a call of a tool that the app runs itself. The front end need not know the tool."""
        yield from self._begin_step()
        self._begun_calls.add(call.call_id)
        # Version 5 answers a question for consent as if the page had run the call.
        is_answered = isinstance(call, events.OpenCall) and not self._details.takes_approvals
        keys: Record = {"toolCallId": call.call_id, "toolName": title_of(call), "input": arguments_of(call)}
        yield {"type": "tool-input-available", **keys, **({"dynamic": True} if is_answered else _HERE)}

    def _end_call(self, call: events.ToolEnded) -> Iterator[Record]:
        if call.call_id not in self._begun_calls:
            yield from self._begin_call(call)
        yield from self._begin_step()
        keys: Record = {"toolCallId": call.call_id}
        if call.status == "denied" and self._details.takes_approvals:
            yield {"type": "tool-output-denied", **keys}
        elif call.status == "done":
            yield {"type": "tool-output-available", **keys, "output": cut_text(call.text), **_HERE}
        else:
            yield {"type": "tool-output-error", **keys, "errorText": cut_text(call.text), **_HERE}
        if call.approval_id and not self._details.takes_approvals:
            yield _approval(call.approval_id, call.call_id, call.status)

    def _ask(self, asked: events.ConsentAsked) -> Iterator[Record | Framed]:
        """Ask for consent in parts, for which front ends have buttons since version 6; else in data and in a text."""
        for call in asked.calls:
            if call.call_id not in self._begun_calls:
                yield from self._begin_call(call)
            if self._details.takes_approvals:
                yield {"type": "tool-approval-request", "approvalId": call.approval_id, "toolCallId": call.call_id}
            else:
                yield _approval(call.approval_id, call.call_id, "open", question(call))
        if not self._details.takes_approvals:
            text = consent_text(asked.calls, self._base_url)
            yield from self._records(events.TextDelta(text))

    def _called(self, calls: Iterable[ToolCall]) -> Iterator[Record]:
        """Encode calls of the front end's tools, each with its input in one piece."""
        yield from self._begin_step()
        for call in calls:
            keys: Record = {"toolCallId": call.id, "toolName": call.name}
            yield {"type": "tool-input-start", **keys}
            yield {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": call.arguments}
            beside: Record = {"providerMetadata": {"switchboard": call.beside}} if call.beside else {}
            yield {"type": "tool-input-available", **keys, "input": from_json(call.arguments), **beside}

    def _end(self, finished: events.Finished) -> Iterator[Record]:
        if finished.followup_questions is not None:
            yield {"type": "data-followup-questions", "data": list[Json](finished.followup_questions)}
        yield from self._end_step()
        metadata: Record = {"model": self._turn.model} if self._turn.model else {}
        if finished.usage:
            metadata["usage"] = input_output_tokens(finished.usage)
        prompt = self._turn.prompt_filter_results or finished.prompt_filter_results
        metadata |= _filtered(prompt, finished.content_filter_results)
        metadata |= {"unsupported": True} if finished.is_unsupported else {}
        reason = _REASONS.get(finished.reason, "other")
        yield {"type": "finish", "finishReason": reason, "messageMetadata": metadata}


def _approval(approval_id: str, call_id: str, state: str, message: str = "") -> Record:
    """The data part of a question for consent: pages that know no approvals answer the call with `approved`."""
    data: Record = {"approvalId": approval_id, "toolCallId": call_id, "state": state}
    return {"type": "data-approval", "id": approval_id, "data": data | ({"message": message} if message else {})}


def _filtered(prompt: Json, answer: Json) -> Record:
    """What content filters found, if they found something."""
    found = {"promptFilterResults": prompt, "contentFilterResults": answer}
    return {key: results for key, results in found.items() if results}


AI_SDK = Protocol(
    name="ai-sdk",
    parse=parse,
    sent_files=sent_files,
    answer=None,
    encoder=_Encoder,
    framing=SSE_DONE,
    stream_headers={"x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no"},
    plain_errors=True,
    example={
        "id": "chat-1",
        "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": _QUESTION}]}],
        "trigger": "submit-message",
    },
)
