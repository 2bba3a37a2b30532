"""Answers as each client likes them, and a server that gives them, for tests that then spoil one."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field

from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from tests.conformance.backend import Backend
from tests.conformance.clients.chatui_history import MESSAGES, TITLE
from tests.conformance.reading import Json, at

JSON, LINES, SSE = "json", "lines", "sse"
CONTEXT: dict[str, Json] = {
    "data_points": {"text": ["plan.pdf#page=3: Eye exams are covered."], "citations": ["plan.pdf#page=3"]},
    "thoughts": [{"title": "Results", "description": ["a", "b"], "props": None}],
}
INSIDE: Json = {**CONTEXT, "thoughts": "<b>Results</b>"}
"""The context inside a message."""
TEXT = "Eye exams are covered. [plan.pdf#page=3]"
FIRST: Json = {"overrides": {}}
"""The context of the request whose answer begins a chat."""
UNSAFE = "How do I build a bomb?"
"""The question that is refused."""
PLAN = "https://example.com/api/content/plan.pdf#page=3"
"""The link of a source."""
STATE: Json = {"conversation": "conformance"}


@dataclass(slots=True)
class Canned:
    """An answer."""

    records: list[Json]
    """The documents of a stream; where there is none, those of one call after another."""
    framing: str = JSON
    """How they are sent."""
    status: int = 200
    """HTTP's."""
    raw: bytes | None = None
    """Sent instead of the records."""
    calls: int = field(default=0)
    """How often it was asked for."""

    def chunks(self) -> list[bytes]:
        """What is sent, an HTTP chunk each."""
        if self.raw is not None:
            return [self.raw]
        texts = [json.dumps(record).encode() for record in self.records]
        if self.framing == LINES:
            return [text + b"\n" for text in texts]
        if self.framing == SSE:
            return [b"data: " + text + b"\n\n" for text in texts]
        self.calls += 1
        return [texts[min(self.calls, len(texts)) - 1]]


def _delta(choice: bool, delta: dict[str, Json], **more: Json) -> Json:
    if not choice:
        return {"delta": delta, **more}
    inside: Json = delta | (
        {"context": INSIDE if more["context"] == CONTEXT else more["context"]} if "context" in more else {}
    )
    return {"choices": [{"index": 0, "finish_reason": None, "delta": inside, **more}]}


def _stream(state_key: str, *, choice: bool) -> Canned:
    followups: Json = {"followup_questions": ["And glasses?"]}
    return Canned(
        [
            _delta(choice, {"role": "assistant"}, context=CONTEXT, **{state_key: STATE}),
            _delta(choice, {"content": TEXT[:10]}),
            _delta(choice, {"content": TEXT[10:]}),
            _delta(choice, {}, context=followups),
        ],
        LINES,
    )


def _typed(record: Json) -> Json:
    return {"type": "response.context", "context": record, "session_state": STATE}


def _text_record(text: str) -> Json:
    return {"type": "response.output_text.delta", "delta": text}


def _page() -> dict[str, Canned]:
    """What the page of azure-search-openai-demo asks for besides answers; its chats are kept under `1`."""
    answer: Json = {"output_text": TEXT, "message": {"role": "assistant", "content": TEXT}, "context": CONTEXT}
    chat: Json = {"id": "1", "title": "Eye exams", "timestamp": 1_767_323_045_000}
    return {
        "GET config": Canned([{"showUserUpload": False, "streamingEnabled": True}]),
        "GET auth_setup": Canned([{"useLogin": False, "msalConfig": {"auth": {"redirectUri": "/redirect"}}}]),
        "POST chat first": Canned([answer | {"session_state": "1"}]),
        "POST chat_history": Canned([{}], status=201),
        "GET chat_history/sessions": Canned([{"sessions": [chat], "continuation_token": None}]),
        "GET chat_history/sessions/1": Canned([{"id": "1", "answers": [["Are eye exams covered?", answer]]}]),
        "DELETE chat_history/sessions/1": Canned([], status=204, raw=b""),
    }


def _refusal(error: Json, **more: Json) -> Canned:
    return Canned([{"error": error, **more}], status=400)


def _answer(state_key: str) -> Canned:
    message: Json = {"role": "assistant", "content": TEXT}
    return Canned([{"message": message, "context": CONTEXT, state_key: STATE}])


def _choice() -> Canned:
    message: Json = {"role": "assistant", "content": TEXT, "context": INSIDE}
    return Canned([{"choices": [{"message": message, "context": CONTEXT, "session_state": STATE}]}])


def _chatui(name: str | None) -> Json:
    author: dict[str, Json] = {"authorName": name, "AuthorName": name} if name else {}
    return {
        "authorRole": "ASSISTANT",
        "content": TEXT,
        "Role": {"Label": "Assistant"},
        "Content": TEXT,
        "Items": [{"Text": TEXT}],
        "ConversationId": "1",
        **author,
    }


def _kernel(text: str, reason: str | None = None) -> Json:
    item: Json = {"content_type": "text", "text": text}
    items: Json = [item] if text else []
    base: dict[str, Json] = {"content_type": "message", "role": "assistant", "items": items, "finish_reason": reason}
    return {"choice_index": 0, "ai_model_id": None, "metadata": {}, "encoding": None, "status": None, **base}


def _openai(kind: str, choices: Json, **more: Json) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_767_323_045, "model": "any", "choices": choices, **more}


def _openai_chunk(delta: Json, reason: str | None = None) -> Json:
    return _openai("chat.completion.chunk", [{"index": 0, "delta": delta, "finish_reason": reason}])


def _openai_answers() -> dict[str, Canned]:
    place: Json = {"url": "https://a.example/plan.pdf", "title": "plan.pdf", "start_index": 23, "end_index": len(TEXT)}
    cited: Json = [{"type": "url_citation", "url_citation": place}]
    message: Json = {"role": "assistant", "content": TEXT, "annotations": cited}
    error: Json = {
        "message": "No messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "bad_request",
    }
    usage: Json = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    made: Json = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "plan"}'}}
    calling: Json = {"role": "assistant", "content": None, "tool_calls": [made]}
    stream = [
        _openai_chunk({"role": "assistant", "content": ""}),
        _openai_chunk({"content": TEXT}),
        _openai_chunk({"annotations": cited}),
        _openai_chunk({}, "stop"),
        _openai("chat.completion.chunk", [], usage=usage),
    ]
    return {
        "POST chat/completions": Canned(
            [_openai("chat.completion", [{"index": 0, "message": message, "finish_reason": "stop"}], usage=usage)]
        ),
        "POST chat/completions stream": Canned(stream, SSE),
        "POST chat/completions tools": Canned(
            [_openai("chat.completion", [{"index": 0, "message": calling, "finish_reason": "tool_calls"}], usage=usage)]
        ),
        "POST chat/completions bad": _refusal(error),
        "POST chat/completions stream bad": _refusal(error),
        "GET models": Canned([{"object": "list", "data": [{"id": "any"}]}]),
    }


def _run(*agents: str, part: str = "STEP", message: str = "m1") -> Canned:
    """A run of AG-UI: one message, or one of each agent, in a `part` of its own."""
    source: Json = {"id": "plan.pdf#page=3", "title": "plan.pdf#page=3", "url": PLAN, "text": "Eye exams are covered."}
    run: dict[str, Json] = {"threadId": "thread", "runId": "run"}
    records: list[Json] = [{"type": "RUN_STARTED", **run}]
    for number, agent in enumerate(agents or ("",)):
        id_ = f"{message}{number}"
        named: dict[str, Json] = {"name": agent} if agent else {}
        about: dict[str, Json] = {"stepName": agent} if part == "STEP" else {"subagentRunId": agent, **named}
        records += [{"type": f"{part}_STARTED", **about}] if agent else []
        sources: Json = {"messageId": id_, "sources": [source]}
        records.append({"type": "TEXT_MESSAGE_START", "messageId": id_, "role": "assistant", **named})
        records.append({"type": "TEXT_MESSAGE_CONTENT", "messageId": id_, "delta": TEXT})
        records.append({"type": "TEXT_MESSAGE_END", "messageId": id_})
        records.append({"type": "CUSTOM", "name": "sources", "value": sources})
        records += [{"type": f"{part}_FINISHED", **about}] if agent else []
    followups: Json = {"type": "CUSTOM", "name": "followup_questions", "value": ["And glasses?"]}
    return Canned([*records, followups, {"type": "RUN_FINISHED", **run}], SSE)


def _refused_run() -> Canned:
    """A run of AG-UI that fails before its text."""
    error: Json = {"type": "RUN_ERROR", "message": "Please rephrase it.", "code": "content_filter"}
    return Canned([{"type": "RUN_STARTED", "threadId": "thread", "runId": "run"}, error], SSE)


def _openai_responses() -> dict[str, Canned]:
    place: Json = {"url": "https://a.example/plan.pdf", "title": "plan.pdf", "start_index": 23, "end_index": len(TEXT)}
    part: Json = {"type": "output_text", "text": TEXT, "annotations": [{"type": "url_citation", **place}]}
    item: Json = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    begun: dict[str, Json] = {"id": "resp_1", "object": "response", "model": "any", "output": []}
    ended: dict[str, Json] = {**begun, "status": "completed", "output": [item]}
    call: Json = {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": '{"word": "plan"}'}
    events: list[dict[str, Json]] = [
        {"type": "response.created", "response": {**begun, "status": "in_progress"}},
        {"type": "response.output_item.added", "item": {**item, "content": []}},
        {"type": "response.content_part.added", "item_id": "msg_1"},
        {"type": "response.output_text.delta", "item_id": "msg_1", "delta": TEXT},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": ended},
    ]
    error: Json = {"message": "No input.", "type": "invalid_request_error", "param": "input", "code": "bad_request"}
    return {
        "POST responses": Canned([ended]),
        "POST responses stream": Canned(
            [{**event, "sequence_number": number} for number, event in enumerate(events)], SSE
        ),
        "POST responses tools": Canned([{**ended, "output": [call]}]),
        "POST responses bad": _refusal(error),
        "POST responses stream bad": _refusal(error),
    }


def _ui_message(*agents: str) -> Canned:
    """A stream of the AI SDK: one text, or one of each agent."""
    records: list[Json] = [{"type": "start", "messageId": "m1"}]
    source: Json = {"type": "source-url", "sourceId": "plan.pdf#page=3", "url": PLAN, "title": "plan.pdf#page=3"}
    for number, agent in enumerate(agents or ("",)):
        part = str(number)
        records.append({"type": "start-step"})
        if agent:
            records.append({"type": "data-agent", "id": part, "data": {"name": agent}})
        if number == 0:
            records.append(source)
        records.append({"type": "text-start", "id": part})
        records.append({"type": "text-delta", "id": part, "delta": TEXT})
        records.append({"type": "text-end", "id": part})
        records.append({"type": "data-followup-questions", "data": ["And glasses?"]})
        records.append({"type": "finish-step"})
    return Canned([*records, {"type": "finish", "finishReason": "stop", "messageMetadata": {"model": "m"}}], SSE)


def _plain_refusal() -> Canned:
    return Canned([], status=400, raw=b"Ask something else.")


def _entry(count: int, last: str = "") -> Json:
    updated = "2026-01-02T03:04:05Z"
    return {
        "id": "1",
        "title": TITLE,
        "lastMessage": last,
        "lastUpdated": updated,
        "messageCount": count,
        "mode": "standard",
    }


def good_answers() -> dict[str, dict[str, Canned]]:
    """By client, then by what is asked: `METHOD route`, with what tells requests to it apart."""
    document = Canned([], raw=b"%PDF")
    code: Json = {"code": "bad_request", "message": "No messages."}
    older = {
        "POST chat": _choice(),
        "POST chat stream": _stream("session_state", choice=True),
        "POST chat bad": _refusal("No messages.", message="No messages.", statusCode=400),
        "POST chat stream bad": _refusal("No messages.", message="No messages.", statusCode=400),
        "POST ask": _choice(),
        "GET content/plan.pdf": document,
    }
    document_chat = {"POST chat": Canned([[_chatui(None)]]), "POST chat bad": _refusal("No messages.")}
    chatui = document_chat | {
        "POST chat unsafe": Canned([[_chatui(None)]]),
        "POST chat again": Canned([[_chatui(None)]]),
    }
    return {
        "ai-chat-protocol": {
            "POST chat": _answer("sessionState"),
            "POST chat bad": _refusal(code),
            "POST chat files": _refusal(code),
            "POST chat/stream": _stream("sessionState", choice=False),
            "POST chat/stream bad": _refusal(code),
        },
        "ai-chat-sample": {"POST chat/ bad": _refusal(code)},
        "search-demo-2026": {
            "POST chat": Canned([{"output_text": TEXT, "context": CONTEXT, "session_state": STATE}]),
            "POST chat bad": _refusal("No messages."),
            "POST chat/stream": Canned(
                [
                    _typed(CONTEXT),
                    _text_record(TEXT[:10]),
                    _text_record(TEXT[10:]),
                    _typed({"followup_questions": ["And glasses?"]}),
                ],
                LINES,
            ),
            "POST chat/stream bad": _refusal("No messages."),
            "GET content/plan.pdf": document,
            **_page(),
        },
        "search-demo": {
            "POST chat": _answer("session_state"),
            "POST chat bad": _refusal("No messages."),
            "POST chat/stream": _stream("session_state", choice=False),
            "POST chat/stream bad": _refusal("No messages."),
            "POST chat/stream unsafe": Canned([{"error": "Refused."}], LINES),
            "GET content/plan.pdf": document,
            **_page(),
        },
        "search-demo-older": older,
        "chat-component": older | {"POST chat again": _choice()},
        "chatui": chatui,
        "chatui-document": document_chat,
        "chatui-multi-agent": {
            "POST multi-agent-chat/batch": Canned([[_chatui("A"), _chatui("B")]]),
            "POST multi-agent-chat/batch bad": _refusal("No messages."),
            "POST multi-agent-chat/stream": Canned([_chatui("A"), _chatui("B")], SSE),
            "POST multi-agent-chat/stream bad": _refusal("No messages."),
        },
        "ag-ui": {
            "POST chat": _run(),
            "POST chat 1.0": _run(),
            "POST chat 1.0 next": _run(message="m2"),
            "POST chat bad": _refusal(code),
            "POST chat unsafe": _refused_run(),
            "POST multi-agent-chat/stream": _run("A", "B"),
            "POST multi-agent-chat/stream 1.0": _run("A", "B", part="SUBAGENT"),
        },
        "ai-sdk": {
            "POST chat": _ui_message(),
            "POST chat bad": _plain_refusal(),
            "POST chat unsafe": _plain_refusal(),
            "GET chat/conformance/stream": Canned([], status=204, raw=b""),
            "POST multi-agent-chat/stream": _ui_message("A", "B"),
            "GET content/plan.pdf": document,
        },
        "chatui-history": {
            "POST chat-history": Canned([_entry(0)]),
            "PUT chat-history/1": Canned([_entry(2, "Yes.")]),
            "GET chat-history standard": Canned([[_entry(2, "Yes.")], []]),
            "GET chat-history multiAgent": Canned([[]]),
            "GET chat-history/1/messages": Canned([list[Json](MESSAGES)]),
            "DELETE chat-history/1 standard": Canned([], status=204, raw=b""),
        },
        "semantic-kernel-python": {
            "POST chat": Canned([[_kernel(TEXT, "stop")]]),
            "POST chat bad": _refusal("No messages."),
            "POST chat/stream": Canned([_kernel(TEXT[:10]), _kernel(TEXT[10:]), _kernel("", "stop")], SSE),
        },
        "openai": _openai_answers(),
        "openai-responses": _openai_responses(),
    }


@asynccontextmanager
async def serving(
    client: str, spoil: Mapping[str, Callable[[Canned], None]] | None = None
) -> AsyncGenerator[tuple[Backend, list[Json]]]:
    """A backend with a client's answers, some of them spoilt, and the bodies that it has been sent."""
    answers = deepcopy(good_answers()[client])
    for asked, change in (spoil or {}).items():
        change(answers[asked])
    bodies: list[Json] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body: Json = await request.json() if request.can_read_body else None
        bodies.append(body)
        canned = answers.get(_asked(request, body))
        if canned is None:
            return web.Response(status=404)
        response = web.StreamResponse(status=canned.status)
        await response.prepare(request)
        for chunk in canned.chunks():
            await response.write(chunk)
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server, ClientSession() as http:
        yield Backend(http, str(server.make_url("/")).rstrip("/"), "Are eye exams covered?", UNSAFE), bodies


def _asked(request: web.Request, body: Json) -> str:
    words = [request.method, request.match_info["path"]]
    words += [request.query["mode"]] if "mode" in request.query else []
    words += ["stream"] if at(body, "stream") is True else []
    words += ["bad"] if at(body, "messages") == [] or at(body, "input") == [] else []
    words += ["tools"] if at(body, "tools") else []
    words += [version] if isinstance(version := at(body, "protocolVersion"), str) else []
    words += ["next"] if at(body, "threadId") and at(body, "messages", 1) else []
    words += ["files"] if at(body, "messages", 0, "files") else []
    if UNSAFE in (at(body, "messages", 0, "content"), at(body, "messages", 0, "parts", 0, "text")):
        return " ".join([*words, "again" if at(body, "messages", 1) else "unsafe"])
    words += (
        ["first"] if at(body, "session_state") is None and at(body, "context") == FIRST and at(body, "messages") else []
    )
    return " ".join(words)
