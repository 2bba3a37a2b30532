"""`ag-ui`: the Agent User Interaction Protocol 1.0, for CopilotKit, assistant-ui and other front ends of agents.

All its routes stream: a client reads events and nothing else. It checks their order, and ends a run at an event that
its version does not know or at a null, dropping what it has shown. So clients before 1.0, which send no
`protocolVersion`, get a team's agents as steps.

Source: AG-UI 1.0, `spec/1.0/schema.json`; `@ag-ui/client`, `verify.ts` and `transform/sse.ts`.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import assert_never

from shared import events
from shared.chat_types import ChatRequest, Json, ToolCall
from shared.citations import citations_in
from shared.errors import FILTERED_ANSWER, ContentFiltered, Overloaded, RateLimited, SwitchboardError, error_text
from shared.wire.ag_ui_body import AgUiDetails, parse, sent_files
from shared.wire.consent import PAUSED, consent_text, cut_arguments, cut_text, question, title_of
from shared.wire.context import input_output_tokens, link_to, passages_by_source, thoughts_json
from shared.wire.framing import HOLE, SSE, Framed, one_line
from shared.wire.parts_encoder import PartsEncoder
from shared.wire.protocol import QUESTION, Protocol, Record, coded_error_record
from shared.wire.reasons import beside, reason_of


class _Encoder(PartsEncoder):
    """Encodes an answer as events: the sources, the message, the follow-up questions, and how the run ended.

    `CUSTOM` events come before or after a message, not inside it: assistant-ui would begin a new text after each. It
    adds them to the message before, if the run has one: so a team's come after the message that they are of. Only
    `progress`, which a request has to ask for, comes at once.
    """

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._details = details = AgUiDetails.of(request)
        self._base_url = request.base_url
        thread, self._run_id = (
            details.thread_id or f"thread-{request.turn_id}",
            details.run_id or f"run-{request.turn_id}",
        )
        self._run: Record = {"threadId": thread, "runId": self._run_id}
        self._invocation_id = request.invocation_id
        self._message_id = f"msg-{request.answer_id}"  # clients add to an earlier message with the same id
        self._message: Record = {"messageId": self._message_id}
        self._before_text, self._after_text = SSE.cut_at_holes(_content(self._message, HOLE))
        self._texts: list[str] = []
        self._reasoning: Record = {}
        self._reasonings = 0
        self._points: tuple[events.DataPoint, ...] = ()
        self._thoughts: list[events.Thought] = []
        self._has_more_thoughts = False
        self._model = ""
        self._usages: dict[str, events.Usage] = {}
        self._calls: list[Json] = []
        self._begun_calls = {*self._details.calls}
        self._open_calls: Sequence[events.OpenCall] = ()

    def _begin(self) -> Iterable[Record]:
        return ({"type": "RUN_STARTED", **self._run},)

    def _begin_text(self) -> Iterable[Record]:
        return ({"type": "TEXT_MESSAGE_START", **self._message, "role": "assistant"},)

    def _add_text(self, text: str) -> Framed:
        self._texts.append(text)
        return self._before_text + one_line(text) + self._after_text

    def _end_text(self) -> Iterable[Record]:
        return ({"type": "TEXT_MESSAGE_END", **self._message},)

    def _begin_reasoning(self) -> Iterable[Record]:
        self._reasonings += 1
        number = f"-{self._reasonings}" if self._reasonings > 1 else ""
        self._reasoning = {"messageId": f"{self._message_id}-reasoning{number}"}
        yield {"type": "REASONING_START", **self._reasoning}
        yield {"type": "REASONING_MESSAGE_START", **self._reasoning, "role": "reasoning"}

    def _add_reasoning(self, text: str) -> Record:
        return {"type": "REASONING_MESSAGE_CONTENT", **self._reasoning, "delta": text}

    def _end_reasoning(self) -> Iterable[Record]:
        yield {"type": "REASONING_MESSAGE_END", **self._reasoning}
        yield {"type": "REASONING_END", **self._reasoning}

    def _encode_other(self, event: events.ChatEvent) -> Iterable[Record]:  # noqa: C901 (one case an event)
        match event:
            case events.Retrieved():
                return self._retrieved(event)
            case events.CompletionStarted():
                self._model = event.model
            case events.AgentMessage():
                return self._said(event)
            case events.ThoughtsAdded():
                self._thoughts += event.thoughts
                self._has_more_thoughts = True
            case events.ToolStarted():
                return () if event.call_id in self._begun_calls else self._begin_call(event)
            case events.ToolEnded():
                return self._end_call(event)
            case events.ConsentAsked():
                return self._ask(event.calls)
            case events.FilterAnnotation():
                pass  # AG-UI has no place for it, and `Finished` says what it led to
            case events.TextDelta() | events.ReasoningDelta():
                pass  # the base has encoded it
            case events.AgentWork():
                return (_custom("progress", _work_json(event)),)
            case events.Finished():
                return self._finished(event)
            case events.ToolsCalled():
                return self._called(event.calls)
            case events.Failed():
                return self._failed(event)
            case _:
                assert_never(event)
        return ()

    def _notice(self, finished: events.Finished) -> str:
        return "" if finished.reason == ContentFiltered.code else super()._notice(finished)  # that is a `RUN_ERROR`

    def _failed(self, failed: events.Failed) -> Iterable[Record]:
        error = failed.error
        wait = [_custom("retry_after", error.retry_after)] if isinstance(error, RateLimited | Overloaded) else []
        if self._details.shows_progress and (reason := reason_of(error.message)):
            wait.append(_custom("reason", reason))
        start = () if self._has_begun else self._begin()
        return (*start, *self._found(error), *wait, *self._end_run(error_text(error, failed.invocation_id), error.code))

    def _found(self, error: SwitchboardError) -> Iterable[Record]:
        """Report what a refused question or answer has, as a thought: `RUN_ERROR` has no place for it."""
        if not (self._details.shows_progress and isinstance(error, ContentFiltered) and error.results):
            return ()
        found = events.Thought("Safety", error.message, {"filter_results": error.results})
        return self._thoughts_events(self._message, (*self._thoughts, found))

    def _end_run(self, sentence: str, code: str) -> Iterable[Record]:
        return ({"type": "RUN_ERROR", "message": sentence, "code": code},)

    def _called(self, calls: Iterable[ToolCall]) -> Iterator[Record]:
        """Encode calls of the front end's tools, in the message with the text. It runs them and asks again."""
        for call in calls:
            self._calls.append(call.id)
            yield from _call(call.id, call.name, call.arguments, self._message_id)

    def _begin_call(self, call: events.ToolStarted | events.ToolEnded | events.OpenCall) -> Iterator[Record]:
        """Encode a call of a tool that the app runs itself, in a message of its own, which the result follows."""
        self._begun_calls.add(call.call_id)
        yield from _call(call.call_id, title_of(call), cut_arguments(call), f"{self._message_id}-{call.call_id}")

    def _end_call(self, call: events.ToolEnded) -> Iterator[Record]:
        """Encode the result of a call that the app has run."""
        if call.call_id not in self._begun_calls:
            yield from self._begin_call(call)
        if self._details.shows_progress:
            yield _custom("tool_call", _call_json(call))
        result: Record = {"messageId": f"{call.call_id}-result", "toolCallId": call.call_id}
        yield {"type": "TOOL_CALL_RESULT", **result, "content": cut_text(call.text) or "(no output)", "role": "tool"}

    def _ask(self, calls: Sequence[events.OpenCall]) -> Iterator[Record]:
        """Show the calls that need consent. The end of the run asks for it; clients before 1.0 get a text as well."""
        self._open_calls = calls
        for call in calls:
            if call.call_id not in self._begun_calls:
                yield from self._begin_call(call)
        if not self._details.knows_1_0:
            message: Record = {"messageId": f"{self._message_id}-consent"}
            yield from _whole_text(message, consent_text(calls, self._base_url))

    def _retrieved(self, event: events.Retrieved) -> Iterator[Record]:
        if self._details.shows_progress and (event.data_points or self._points):
            yield self._sources(self._message, event.data_points)
        self._points, self._thoughts = event.data_points, [*event.thoughts]
        yield from self._thoughts_events(self._message, event.thoughts)

    def _said(self, said: events.AgentMessage) -> Iterator[Record]:
        """An agent's message. Agents come one after the other, so that no two steps of one name are open at once."""
        self._points = tuple(dict.fromkeys((*self._points, *said.data_points)))
        if said.completion and said.finished and said.finished.usage:
            self._add_usage(said.completion.model, said.finished.usage)
        message: Record = {"messageId": f"{self._message_id}-{said.position}"}
        agent: Record = {"subagentRunId": f"{self._run_id}-{said.position}"} if self._details.knows_1_0 else {}
        if agent:
            yield {"type": "SUBAGENT_STARTED", **agent, "name": said.agent}
        else:
            yield {"type": "STEP_STARTED", "stepName": said.agent}
        start, *rest = _whole_text(message, said.text)
        sources = self._cited(message, said.text, said.data_points)
        yield start | {"name": said.agent} | agent
        for record in (*rest, *sources, *self._thoughts_events(message, said.thoughts)):
            yield record | agent
        if not agent:
            yield {"type": "STEP_FINISHED", "stepName": said.agent}
        elif said.error:
            yield {"type": "SUBAGENT_ERROR", **agent, "message": said.text, "code": said.error.code}
        else:
            yield {"type": "SUBAGENT_FINISHED", **agent}

    def _finished(self, event: events.Finished) -> Iterator[Record]:
        if not self._details.shows_progress:
            yield from self._cited(self._message, "".join(self._texts), self._points)
        if self._has_more_thoughts:
            yield from self._thoughts_events(self._message, self._thoughts)
        reason = "tool_calls" if event.reason == PAUSED else event.reason
        result: Record = {"sources": _sources_json(self._points, self._base_url), "finish_reason": reason}
        if event.is_unsupported:
            result["unsupported"] = True
        if event.followup_questions is not None:
            questions = list[Json](event.followup_questions)
            result["followup_questions"] = questions
            yield _custom("followup_questions", questions)
        if event.reason == ContentFiltered.code:
            error = ContentFiltered(FILTERED_ANSWER)
            yield from self._end_run(error_text(error, self._invocation_id), error.code)
            return
        if event.usage and not self._usages:
            self._add_usage(self._model, event.usage)
        ended: Record = {"type": "RUN_FINISHED", **self._run, "result": result}
        if self._usages and self._details.knows_1_0:
            ended["usage"] = [{"model": model, **input_output_tokens(usage)} for model, usage in self._usages.items()]
        if self._open_calls:
            ended["outcome"] = {"type": "interrupt", "interrupts": [*map(_interrupt, self._open_calls)]}
        elif self._calls and self._details.knows_1_0:
            ended["outcome"] = {"type": "success", "pendingToolCallIds": self._calls}
        yield ended

    def _add_usage(self, model: str, usage: events.Usage) -> None:
        self._usages[model] = events.Usage.total(self._usages.get(model), usage) or usage

    def _cited(self, message: Record, text: str, points: Sequence[events.DataPoint]) -> Iterator[Record]:
        """The sources of a message: those that it cites, since pages list all that they get; our own gets all."""
        names = {place[1] for place in citations_in(text)}
        if shown := [point for point in points if self._details.shows_progress or point.sourcepage in names]:
            yield self._sources(message, shown)

    def _sources(self, message: Record, points: Iterable[events.DataPoint]) -> Record:
        return _custom("sources", {**message, "sources": _sources_json(points, self._base_url)})

    def _thoughts_events(self, message: Record, thoughts: Sequence[events.Thought]) -> Iterable[Record]:
        if not (self._details.shows_thoughts and thoughts):
            return ()
        return (_custom("thoughts", {**message, "thoughts": thoughts_json(thoughts)}),)


class _MessageEncoder(_Encoder):
    """Encodes an error as a message, and ends the run as if all was well: CopilotKit's chat shows no `RUN_ERROR`."""

    def _end_run(self, sentence: str, code: str) -> Iterable[Record]:
        message: Record = {"messageId": f"{self._message_id}-error"}
        result: Record = {"sources": [], "finish_reason": code}
        return (*_whole_text(message, sentence), {"type": "RUN_FINISHED", **self._run, "result": result})


def _whole_text(message: Record, text: str) -> Iterator[Record]:
    yield {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}
    yield _content(message, text)
    yield {"type": "TEXT_MESSAGE_END", **message}


def _call(call_id: str, name: str, arguments: str, message_id: str) -> Iterator[Record]:
    """A whole call, as a part of a message."""
    call: Record = {"toolCallId": call_id}
    yield {"type": "TOOL_CALL_START", **call, "toolCallName": name, "parentMessageId": message_id}
    yield {"type": "TOOL_CALL_ARGS", **call, "delta": arguments}
    yield {"type": "TOOL_CALL_END", **call}


def _interrupt(call: events.OpenCall) -> Record:
    """A question for consent. assistant-ui shows its buttons for a schema of these keys alone."""
    answer: Record = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
    about: Record = {"agent": call.agent, "server": call.server, "tool": call.tool, "description": call.description}
    about["origins"] = {**call.origins}
    return {
        "id": call.approval_id,
        "reason": "tool_call",
        "message": question(call),
        "toolCallId": call.call_id,
        "responseSchema": {"type": "object", "properties": answer, "required": ["approved"]},
        "expiresAt": datetime.fromtimestamp(call.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "metadata": about,
    }


def _call_json(call: events.ToolEnded) -> Json:
    return {
        "toolCallId": call.call_id,
        "agent": call.agent,
        "server": call.server,
        "tool": call.tool,
        "status": call.status,
        "milliseconds": round(call.milliseconds, 1),
    }


def _custom(name: str, value: Json) -> Record:
    return {"type": "CUSTOM", "name": name, "value": value}


def _work_json(work: events.AgentWork) -> Json:
    news: dict[str, Json] = {"kind": "agent", "agent": work.agent, "state": work.state}
    known = {"query": work.query, "tool": work.tool, "to": work.to, "error": work.error}
    news |= {key: value for key, value in known.items() if value is not None}
    if work.usage:
        news["usage"] = input_output_tokens(work.usage)
    if work.milliseconds is not None:
        news["milliseconds"] = round(work.milliseconds, 1)
    return news


def _content(message: Record, text: str) -> Record:
    return {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": text}


def _sources_json(points: Iterable[events.DataPoint], base_url: str) -> list[Json]:
    sources: list[Json] = []
    for name, passages in passages_by_source(points).items():
        several: Record = {"passages": list[Json](passages)} if len(passages) > 1 else {}
        text = "\n\n".join(passages)
        sources.append({"id": name, "title": name, "url": link_to(name, base_url), "text": text, **several})
    return sources


AG_UI = Protocol(
    name="ag-ui",
    parse=parse,
    sent_files=sent_files,
    answer=None,
    encoder=_Encoder,
    error=lambda error, invocation_id: coded_error_record(error, invocation_id, **beside(error)),
    fails_in_stream=(SwitchboardError,),
    message_encoder=_MessageEncoder,
    framing=SSE,
    shows_progress=True,
    example={"threadId": "t1", "runId": "r1", **QUESTION},
)
