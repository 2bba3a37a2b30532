"""Every rule of every client: it holds for a good answer, and it is seen to fail for an answer that breaks it."""

import json

import pytest

from tests.conformance.canned import CONTEXT, good_answers, serving
from tests.conformance.clients import CLIENTS
from tests.conformance.reading import Json, at
from tests.conformance.rules import READS, run_client
from tests.conformance.spoiling import Change, both, drop, first, put, raw, status, without_line

NAMED = {client.name: client for client in CLIENTS}


CHAT = "a chat from its start to its end"
M, C = (0, "message"), (0, "choices", 0)
PART = ("output", 0, "content", 0)
CITED = (*C, "message", "annotations", 0, "url_citation")
BAD_THOUGHTS: Json = [{"title": "Results", "props": "none"}]
NO_TEXT: Json = {"data_points": {"text": "plan.pdf: Eye exams"}, "thoughts": []}
CUSTOM: Json = {"type": "CUSTOM", "name": "other", "value": None}
TEXT_END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m10"}
SOURCE: Json = {"type": "source-url", "sourceId": "x", "url": "https://example.com/x", "title": "x"}
ERROR_LINE: Json = {"error": "Broken."}
TWO_TEXTS: Json = [{"content_type": "text", "text": "Eye"}, {"content_type": "text", "text": " exams"}]

type Case = tuple[str, str, str, str, Change]
"""The client, what it asks, the probe's title, the rule that breaks, and what breaks it."""


def answer_cases(
    client: str, asked: str, title: str, message: tuple[str | int, ...], context: tuple[str | int, ...]
) -> list[Case]:
    """What breaks the rules that clients of the RAG documents share."""
    state = (*context[:-1], "session_state")
    changes: list[tuple[str, Change]] = [
        ("text", put(*message, "content", to=" ")),
        ("role", put(*message, "role", to="bot")),
        ("data points", put(*context, "data_points", "text", to="plan.pdf")),
        ("thoughts", put(*context, "thoughts", to=BAD_THOUGHTS)),
        ("follow-ups", put(*context, "followup_questions", to="And glasses?")),
        ("citations", put(*context, "data_points", "text", 0, to="other.pdf: Nothing.")),
        ("state", drop(*state)),
    ]
    return [(client, asked, title, rule, change) for rule, change in changes]


def stream_cases(client: str, asked: str, choice: tuple[str | int, ...]) -> list[Case]:
    """The same for a stream, whose first record has the context and whose last one the follow-up questions."""
    changes: list[tuple[str, Change]] = [
        ("text", both(drop(1, *choice, "delta", "content"), drop(2, *choice, "delta", "content"))),
        ("role", drop(0, *choice, "delta", "role")),
        ("data points", put(0, *choice, "context", "data_points", to={"text": [1]})),
        ("thoughts", drop(0, *choice, "context", "thoughts")),
        ("follow-ups", put(3, *choice, "context", "followup_questions", to={"1": "And glasses?"})),
        ("citations", put(0, *choice, "context", "data_points", "text", 0, to="other.pdf: Nothing.")),
        ("state", drop(0, *choice, "session_state")),
        (READS, drop(0, *choice, "context", "data_points")),
        (READS, without_line(0)),
        (READS, first({"error": "Broken."})),
        (READS, raw(b'{"delta": {"con')),
    ]
    return [(client, asked, "a stream", rule, change) for rule, change in changes]


CASES: list[Case] = [
    ("ai-chat-protocol", "POST chat files", "a file in JSON", "not dropped", status(200)),
    ("ai-chat-sample", "POST chat/ bad", "a bad request", "status", status(200)),
    ("ai-chat-sample", "POST chat/ bad", "a bad request", "code", put(0, "error", to="No messages.")),
    ("search-demo", "POST chat/stream unsafe", "a refused question", "in the stream", status(400)),
    ("search-demo", "POST chat/stream unsafe", "a refused question", "in the stream", put(0, "error", to={"code": 1})),
    ("chat-component", "POST chat again", "a question after a refused one", READS, status(400)),
    (
        "chat-component",
        "POST chat again",
        "a question after a refused one",
        "goes on",
        put(*C, "message", "content", to=""),
    ),
    ("chatui", "POST chat unsafe", "a refused question", READS, status(400)),
    ("chatui", "POST chat unsafe", "a refused question", "shown", put(0, 0, "authorRole", to="USER")),
    ("chatui", "POST chat again", "a question after it", READS, status(400)),
    ("chatui", "POST chat again", "a question after it", "goes on", put(0, 0, "content", to=" ")),
    ("ai-chat-protocol", "POST chat", "an answer", READS, status(500)),
    ("ai-chat-protocol", "POST chat", "an answer", READS, raw(b"<html>")),
    ("ai-chat-protocol", "POST chat", "an answer", "text", drop(*M, "content")),
    ("ai-chat-protocol", "POST chat", "an answer", "role", drop(*M, "role")),
    ("ai-chat-protocol", "POST chat", "an answer", "state", drop(0, "sessionState")),
    ("ai-chat-protocol", "POST chat", "a first message", READS, status(500)),
    ("ai-chat-protocol", "POST chat", "a first message", "conversation", put(0, "sessionState", to=None)),
    ("ai-chat-protocol", "POST chat/stream", "a first message", READS, drop(1, "delta")),
    ("ai-chat-protocol", "POST chat/stream", "a first message", "conversation", drop(0, "sessionState")),
    ("ai-chat-protocol", "POST chat bad", "a bad request", "status", status(200)),
    ("ai-chat-protocol", "POST chat bad", "a bad request", "error", put(0, "error", to="No messages.")),
    ("ai-chat-protocol", "POST chat bad", "a bad request", READS, raw(b"Bad request")),
    ("ai-chat-protocol", "POST chat/stream", "a stream", READS, status(500)),
    ("ai-chat-protocol", "POST chat/stream", "a stream", READS, first(ERROR_LINE)),
    ("ai-chat-protocol", "POST chat/stream", "a stream", READS, drop(1, "delta")),
    ("ai-chat-protocol", "POST chat/stream", "a stream", READS, raw(b'{"delta": {"content": "Hi"}}\n{"delta": {}}')),
    ("ai-chat-protocol", "POST chat/stream", "a stream", "text", both(put(1, "delta", to={}), put(2, "delta", to={}))),
    ("ai-chat-protocol", "POST chat/stream", "a stream", "role", drop(0, "delta", "role")),
    ("ai-chat-protocol", "POST chat/stream", "a stream", "state", drop(0, "sessionState")),
    ("ai-chat-protocol", "POST chat/stream bad", "a bad request", "status", status(200)),
    ("ai-chat-protocol", "POST chat/stream bad", "a bad request", "error", drop(0, "error", "code")),
    *(
        (client, asked, title, rule, change)
        for client in ("search-demo-2026", "search-demo")
        for asked, title, rule, change in (
            ("GET config", "the options", READS, status(401)),
            ("GET config", "the options", "options", put(0, "showUserUpload", to="no")),
            ("GET config", "the options", "streaming", drop(0, "streamingEnabled")),
            ("GET auth_setup", "how users sign in", "login", drop(0, "useLogin")),
            ("GET auth_setup", "how users sign in", "redirect", drop(0, "msalConfig", "auth", "redirectUri")),
            ("POST chat first", "a first answer", "history", put(0, "session_state", to=None)),
            ("GET chat_history/sessions", CHAT, READS, put(0, "sessions", to=None)),
            ("GET chat_history/sessions", CHAT, "listed", put(0, "sessions", 0, "id", to="2")),
            ("GET chat_history/sessions", CHAT, "timestamp", put(0, "sessions", 0, "timestamp", to="today")),
            ("GET chat_history/sessions/1", CHAT, "answers", drop(0, "answers", 0, 1, "context")),
            ("DELETE chat_history/sessions/1", CHAT, "deleted", status(404)),
        )
    ),
    *(
        ("search-demo-2026", asked, title, rule, change)
        for asked, title in (("POST chat", "an answer"), ("POST chat/stream", "a stream"))
        for rule, change in (
            ("data points", put(0, "context", "data_points", "text", to="plan.pdf")),
            ("images", put(0, "context", "data_points", "images", to=[{"detail": "auto", "url": "data:"}])),
            ("thoughts", put(0, "context", "thoughts", to=BAD_THOUGHTS)),
            ("citations", put(0, "context", "data_points", "text", 0, to="other.pdf: Nothing.")),
            ("links", drop(0, "context", "data_points", "citations")),
            ("state", drop(0, "session_state")),
            (READS, status(500)),
            (READS, raw(b'{"delta": {"con')),
        )
    ),
    ("search-demo-2026", "POST chat", "an answer", "text", put(0, "output_text", to=" ")),
    ("search-demo-2026", "POST chat", "an answer", "follow-ups", put(0, "context", "followup_questions", to="?")),
    ("search-demo-2026", "POST chat", "an answer", READS, drop(0, "output_text")),
    ("search-demo-2026", "POST chat", "an answer", READS, put(0, "error", to="Broken.")),
    (
        "search-demo-2026",
        "POST chat/stream",
        "a stream",
        "text",
        both(put(1, "delta", to=" "), put(2, "delta", to=" ")),
    ),
    ("search-demo-2026", "POST chat/stream", "a stream", READS, both(drop(1, "type"), drop(2, "type"))),
    ("search-demo-2026", "POST chat/stream", "a stream", READS, first(ERROR_LINE)),
    ("search-demo-2026", "POST chat/stream", "a stream", "follow-ups", put(3, "context", "followup_questions", to="?")),
    ("search-demo-2026", "POST chat bad", "a bad request", "status", status(200)),
    ("search-demo-2026", "POST chat bad", "a bad request", "error", put(0, "error", to={"message": "No messages."})),
    ("search-demo-2026", "POST chat/stream bad", "a bad request", "status", status(200)),
    ("search-demo-2026", "POST chat/stream bad", "a bad request", "error", drop(0, "error")),
    ("search-demo-2026", "GET content/plan.pdf", "a cited document", "document", status(500)),
    *answer_cases("search-demo", "POST chat", "an answer", M, (0, "context")),
    *stream_cases("search-demo", "POST chat/stream", ()),
    ("search-demo", "POST chat", "an answer", "links", drop(0, "context", "data_points", "citations")),
    ("search-demo", "POST chat/stream", "a stream", "links", put(0, "context", "data_points", "citations", to=[])),
    ("search-demo", "POST chat", "an answer", READS, drop(*M)),
    ("search-demo", "POST chat/stream", "a stream", READS, status(500)),
    ("search-demo", "POST chat bad", "a bad request", "status", status(200)),
    ("search-demo", "POST chat bad", "a bad request", "error", put(0, "error", to={"message": "No messages."})),
    ("search-demo", "POST chat/stream bad", "a bad request", "status", status(200)),
    ("search-demo", "POST chat/stream bad", "a bad request", "error", drop(0, "error")),
    ("search-demo", "GET content/plan.pdf", "a cited document", "document", status(500)),
    *answer_cases("search-demo-older", "POST chat", "an answer", (*C, "message"), (*C, "context")),
    *stream_cases("search-demo-older", "POST chat stream", ("choices", 0)),
    *answer_cases("search-demo-older", "POST ask", "a question", (*C, "message"), (*C, "context")),
    ("search-demo-older", "POST chat", "an answer", READS, put(0, "choices", to=[])),
    ("search-demo-older", "POST ask", "a question", READS, status(500)),
    (
        "search-demo-older",
        "POST chat",
        "an answer",
        "descriptions",
        put(*C, "context", "thoughts", 0, "description", to={}),
    ),
    (
        "search-demo-older",
        "POST ask",
        "a question",
        "descriptions",
        put(*C, "context", "thoughts", 0, "description", to={}),
    ),
    (
        "search-demo-older",
        "POST chat stream",
        "a stream",
        "descriptions",
        put(*C, "context", "thoughts", 0, "description", to={}),
    ),
    ("search-demo-older", "POST chat bad", "a bad request", "status", status(200)),
    ("search-demo-older", "POST chat bad", "a bad request", "error", put(0, "error", to=400)),
    ("search-demo-older", "POST chat stream bad", "a bad request for a stream", "error", raw(b"{}\n")),
    ("search-demo-older", "GET content/plan.pdf", "a cited document", "document", raw(b"")),
    ("chat-component", "POST chat", "an answer", READS, status(500)),
    ("chat-component", "POST chat", "an answer", "text", drop(*C, "message", "content")),
    ("chat-component", "POST chat", "an answer", "context inside", drop(*C, "message", "context")),
    (
        "chat-component",
        "POST chat",
        "an answer",
        "overrides",
        put(*C, "message", "context", "data_points", "text", to=["a", "b"]),
    ),
    ("chat-component", "POST ask", "a question", READS, raw(b"Not found")),
    ("chat-component", "POST ask", "a question", "text", put(*C, "message", "content", to="")),
    ("chat-component", "POST ask", "a question", "context inside", put(*C, "message", "context", to=NO_TEXT)),
    (
        "chat-component",
        "POST ask",
        "a question",
        "overrides",
        put(*C, "message", "context", "data_points", "text", to=["a", "b"]),
    ),
    *(
        ("chat-component", asked, title, "thoughts", put(*C, where, "context", "thoughts", to=[]))
        for asked, title, where in (
            ("POST chat", "an answer", "message"),
            ("POST ask", "a question", "message"),
            ("POST chat stream", "a stream", "delta"),
        )
    ),
    ("chat-component", "POST chat bad", "a bad request", "status", status(200)),
    ("chat-component", "POST chat bad", "a bad request", READS, raw(b"Bad request")),
    ("chat-component", "POST chat stream", "a stream", READS, drop(3, "choices", 0, "delta")),
    ("chat-component", "POST chat stream", "a stream", READS, put(3, "choices", to=[])),
    (
        "chat-component",
        "POST chat stream",
        "a stream",
        READS,
        put(3, "choices", 0, "finish_reason", to="content_filter"),
    ),
    ("chat-component", "POST chat stream", "a stream", READS, first({"error": "Broken.", "message": "Broken."})),
    ("chat-component", "POST chat stream", "a stream", "text", both(without_line(1), without_line(1))),
    ("chat-component", "POST chat stream", "a stream", "context inside", drop(*C, "delta", "context")),
    (
        "chat-component",
        "POST chat stream",
        "a stream",
        "overrides",
        put(*C, "delta", "context", "data_points", "text", to=["a", "b"]),
    ),
    ("chat-component", "POST chat stream bad", "a bad request for a stream", "error", drop(0, "statusCode")),
    ("chat-component", "GET content/plan.pdf", "a cited document", "document", status(500)),
    ("chatui", "POST chat", "an answer", READS, put(0, to={})),
    ("chatui", "POST chat", "an answer", READS, drop(0, 0, "content")),
    ("chatui", "POST chat", "an answer", READS, status(503)),
    ("chatui", "POST chat", "an answer", "text", put(0, 0, "content", to=" ")),
    ("chatui", "POST chat", "an answer", "role", put(0, 0, "authorRole", to="USER")),
    ("chatui", "POST chat", "an answer", "no agent", put(0, 0, "metadata", to={"authorName": "A"})),
    ("chatui", "POST chat bad", "a bad request", "status", status(422)),
    ("chatui", "POST chat bad", "a bad request", "reason", raw(b"")),
    ("chatui-document", "POST chat", "an answer", READS, put(0, to={})),
    ("chatui-document", "POST chat", "an answer", "one", put(0, to=[])),
    ("chatui-document", "POST chat", "an answer", "role", put(0, 0, "Role", to="Assistant")),
    ("chatui-document", "POST chat", "an answer", "text", both(drop(0, 0, "Content"), put(0, 0, "Items", to=[]))),
    ("chatui-document", "POST chat", "an answer", "items", put(0, 0, "Items", 0, "Text", to="Another.")),
    ("chatui-document", "POST chat", "an answer", "no author", put(0, 0, "AuthorName", to="A")),
    ("chatui-document", "POST chat", "an answer", "conversation", put(0, 0, "ConversationId", to=7)),
    *(
        ("chatui-multi-agent", f"POST {route}", title, rule, change)
        for route, title, start in (
            ("multi-agent-chat/batch", "all messages", (0, 1)),
            ("multi-agent-chat/stream", "a stream", (1,)),
        )
        for rule, change in (
            (READS, raw(b'data: {"content": "Hi"}\r\n\r\n')),
            ("text", put(*start, "content", to=" ")),
            ("agent", drop(*start, "authorName")),
            ("role", drop(*start, "Role")),
            ("author", drop(*start, "AuthorName")),
            ("items", both(drop(*start, "Items"), drop(*start, "Content"))),
        )
    ),
    ("chatui-multi-agent", "POST multi-agent-chat/stream", "a stream", READS, raw(b": nothing\n\n")),
    ("chatui-multi-agent", "POST multi-agent-chat/stream", "a stream", READS, raw(b"data: [DONE]\n\n")),
    ("chatui-multi-agent", "POST multi-agent-chat/batch bad", "a bad request", "status", status(422)),
    ("chatui-multi-agent", "POST multi-agent-chat/batch bad", "a bad request", "reason", raw(b"")),
    ("chatui-multi-agent", "POST multi-agent-chat/stream bad", "a bad request", "status", status(200)),
    ("chatui-multi-agent", "POST multi-agent-chat/stream bad", "a bad request", "reason", raw(b"\n")),
    *(
        ("chatui-history", asked, "a chat from its start to its end", rule, change)
        for asked, rule, change in (
            ("POST chat-history", READS, status(500)),
            ("POST chat-history", READS, drop(0, "id")),
            ("PUT chat-history/1", READS, status(404)),
            ("GET chat-history multiAgent", READS, put(0, to={"chats": []})),
            ("GET chat-history/1/messages", READS, status(404)),
            ("DELETE chat-history/1 standard", READS, status(404)),
            ("POST chat-history", "title", put(0, "title", to="New Chat")),
            ("GET chat-history standard", "lastUpdated", put(0, 0, "lastUpdated", to="today")),
            ("PUT chat-history/1", "mode", drop(0, "mode")),
            ("PUT chat-history/1", "messageCount", put(0, "messageCount", to="2")),
            ("PUT chat-history/1", "lastMessage", put(0, "lastMessage", to="")),
            ("GET chat-history standard", "listed", put(0, to=[])),
            ("GET chat-history multiAgent", "modes", put(0, to=[{"id": "1"}])),
            ("GET chat-history/1/messages", "messages", put(0, 1, "agentIdentifier", to="Other")),
            ("GET chat-history/1/messages", "messages", put(0, to=[])),
            ("GET chat-history standard", "deleted", put(1, to=[{"id": "1"}])),
        )
    ),
    ("chatui-history", "PUT chat-history/1", "the name of a chat", READS, status(500)),
    ("chatui-history", "PUT chat-history/1", "the name of a chat", "named", put(0, "title", to="New Chat")),
    *(
        ("semantic-kernel-python", "POST chat", "an answer", rule, change)
        for rule, change in (
            (READS, put(0, to={})),
            (READS, put(0, 0, "role", to="Assistant")),
            (READS, put(0, 0, "content_type", to="text")),
            (READS, put(0, 0, "finish_reason", to="error")),
            (READS, put(0, 0, "status", to="done")),
            (READS, put(0, 0, "metadata", to=[])),
            (READS, drop(0, 0, "items", 0, "content_type")),
            (READS, put(0, 0, "items", 0, "text", to=7)),
            (READS, status(500)),
            ("one", put(0, to=[])),
            ("text", put(0, 0, "items", to=[])),
            ("text once", put(0, 0, "content", to="Eye exams")),
            ("role", put(0, 0, "role", to="user")),
        )
    ),
    ("semantic-kernel-python", "POST chat bad", "a bad request", "status", status(200)),
    *(
        ("semantic-kernel-python", "POST chat/stream", "a stream", rule, change)
        for rule, change in (
            (READS, first(ERROR_LINE)),
            (READS, raw(b'data: {"role": "assistant"}\n')),
            ("text", both(put(0, "items", to=[]), put(1, "items", to=[]))),
            ("text once", put(0, "items", to=TWO_TEXTS)),
            ("role", put(0, "role", to="user")),
            ("index", drop(0, "choice_index")),
            ("adds up", put(2, "ai_model_id", to="gpt-4o")),
        )
    ),
    *(
        ("openai", "POST chat/completions", "an answer", rule, change)
        for rule, change in (
            (READS, put(0, "choices", to=[])),
            (READS, status(500)),
            ("text", put(*C, "message", "content", to=None)),
            ("role", put(*C, "message", "role", to="bot")),
            ("head", drop(0, "id")),
            ("head", put(0, "created", to="today")),
            ("finish", put(*C, "finish_reason", to="content-filter")),
            ("annotations", put(*CITED, "url", to="/content/plan.pdf")),
            ("annotations", put(*CITED, "end_index", to=999)),
        )
    ),
    *(
        ("openai", "POST chat/completions stream", "a stream", rule, change)
        for rule, change in (
            (READS, drop(3, "choices", 0, "delta")),
            (READS, drop(1, "choices")),
            (READS, put(1, "choices", 0, "delta", to={"annotations": [1]})),
            (READS, first({"error": {"message": "Broken."}})),
            ("text", drop(1, "choices", 0, "delta", "content")),
            ("role", put(1, "choices", 0, "delta", "role", to="assistant")),
            ("head", put(1, "id", to="chatcmpl-2")),
            ("finish", put(3, "choices", 0, "finish_reason", to=None)),
            ("annotations", put(2, "choices", 0, "delta", "annotations", 0, "url_citation", "title", to=None)),
            ("usage last", without_line(4)),
        )
    ),
    *(
        ("openai", asked, title, rule, change)
        for asked, title in (
            ("POST chat/completions bad", "a bad request"),
            ("POST chat/completions stream bad", "a bad request for a stream"),
        )
        for rule, change in (("status", status(200)), ("error", put(0, "error", to="No messages.")))
    ),
    *(
        ("openai-responses", asked, title, rule, change)
        for asked, title, start in (
            ("POST responses", "an answer", (0,)),
            ("POST responses stream", "a stream", (5, "response")),
        )
        for rule, change in (
            ("text", put(*start, "output", 0, "content", to=[])),
            ("role", put(*start, "output", 0, "role", to="bot")),
            ("head", drop(*start, "id")),
            ("head", put(*start, "status", to="done")),
            ("annotations", put(*start, *PART, "annotations", 0, "url", to="/content/plan.pdf")),
            ("annotations", put(*start, *PART, "annotations", 0, "end_index", to=999)),
        )
    ),
    ("openai-responses", "POST responses", "an answer", READS, put(0, "object", to="chat.completion")),
    *(
        ("openai-responses", "POST responses stream", "a stream", rule, change)
        for rule, change in (
            *((READS, without_line(number)) for number in (0, 1, 2, 4, 5)),
            (READS, put(5, "response", "id", to="resp_2")),
            (READS, put(3, "error", to={"message": "Broken."})),
            ("numbers", put(3, "sequence_number", to=9)),
            ("pieces", put(3, "delta", to="Eye")),
        )
    ),
    *(
        ("openai-responses", asked, title, rule, change)
        for asked, title in (
            ("POST responses bad", "a bad request"),
            ("POST responses stream bad", "a bad request for a stream"),
        )
        for rule, change in (("status", status(200)), ("error", put(0, "error", to="No input.")))
    ),
    ("openai", "GET models", "the models", "models", put(0, "data", to=["any"])),
    *(
        ("ag-ui", "POST chat", "an answer", rule, change)
        for rule, change in (
            (READS, status(500)),
            (READS, raw(b": nothing\n\n")),
            (READS, raw(b'data: {"type": "RUN_STARTED"}\r\n\r\n')),
            (READS, first({"type": "THINKING_START"})),
            (READS, first({"type": "STEP_STARTED", "stepName": "A"})),
            (READS, drop(0, "runId")),
            (READS, put(1, "name", to=None)),
            (READS, put(2, "messageId", to="m2")),
            (READS, without_line(3)),
            (READS, put(5, to={"type": "RUN_ERROR", "message": "Broken."})),
            ("text", put(2, "delta", to="")),
            ("role", put(1, "role", to="user")),
            ("sources", put(4, "value", "sources", 0, "url", to="content/plan.pdf")),
            ("sources", put(4, "value", "messageId", to="m2")),
            ("around", both(put(3, to=CUSTOM), put(4, to=TEXT_END))),
            ("run", put(0, "threadId", to="other")),
            ("end", without_line(-1)),
            ("follow-ups", put(5, "value", to="And glasses?")),
        )
    ),
    ("ag-ui", "POST chat 1.0 next", "a conversation", "text", put(2, "delta", to=" ")),
    ("ag-ui", "POST chat 1.0 next", "a conversation", "end", without_line(-1)),
    (
        "ag-ui",
        "POST chat 1.0 next",
        "a conversation",
        "new id",
        both(*(put(place, "messageId", to="m10") for place in (1, 2, 3))),
    ),
    *(
        ("ag-ui", f"POST chat {asked}", title, rule, change)
        for asked, title in (("bad", "a bad request"), ("unsafe", "a refused question"))
        for rule, change in (("status", status(200)), ("code", put(0, "error", to="No messages.")))
    ),
    *(
        ("ag-ui", f"POST multi-agent-chat/stream{version}", title, rule, change)
        for version, title in ((" 1.0", "a team, since 1.0"), ("", "a team, before 1.0"))
        for rule, change in (
            (READS, without_line(6)),
            (READS, put(6, to={"type": "SUBAGENT_DONE"})),
            (READS, first({"type": "SUBAGENT_STARTED", "subagentRunId": "A"})),
            ("text", put(3, "delta", to=" ")),
            ("role", put(2, "role", to="user")),
            ("names", drop(2, "name")),
            ("sources", put(5, "value", "sources", 0, "title", to="")),
            ("around", both(put(4, to=CUSTOM), put(5, to=TEXT_END))),
            ("run", put(0, "runId", to="other")),
            ("end", without_line(-1)),
        )
    ),
    *(
        ("ai-sdk", "POST chat", "an answer", rule, change)
        for rule, change in (
            (READS, status(500)),
            (READS, first(ERROR_LINE)),
            (READS, first({"type": "response.created"})),
            (READS, first({"type": "error", "errorText": "Broken."})),
            (READS, put(2, "title", to=None)),
            (READS, put(2, "providerMetadata", to={"switchboard": "text"})),
            (READS, put(5, "citations", to=[])),
            (READS, put(4, "id", to="1")),
            (READS, put(4, "delta", to=7)),
            (READS, put(6, "id", to=None)),
            (READS, put(-1, "finishReason", to="content_filter")),
            ("text", put(4, "delta", to=" ")),
            ("ended", without_line(5)),
            ("reason", without_line(-1)),
            ("id", drop(0, "messageId")),
            ("sources", both(first(SOURCE), first(SOURCE))),
            ("links", put(2, "url", to="content/plan.pdf")),
            ("sources first", put(6, to=SOURCE)),
            ("follow-ups", put(6, "data", to=[1])),
        )
    ),
    ("ai-sdk", "POST chat", "a conversation", "text", put(4, "delta", to=" ")),
    ("ai-sdk", "POST chat", "a conversation", "reason", without_line(-1)),
    ("ai-sdk", "POST chat bad", "a bad request", "status", status(200)),
    ("ai-sdk", "POST chat bad", "a bad request", "plain", raw(b'{"error": "No messages."}')),
    ("ai-sdk", "POST chat unsafe", "a refused question", "status", status(200)),
    ("ai-sdk", "POST chat unsafe", "a refused question", "plain", raw(b"")),
    ("ai-sdk", "GET chat/conformance/stream", "a chat that is opened again", "nothing", status(404)),
    ("ai-sdk", "GET content/plan.pdf", "a cited document", "document", raw(b"")),
    *(
        ("ai-sdk", "POST multi-agent-chat/stream", "a stream", rule, change)
        for rule, change in (
            ("text", both(put(5, "delta", to=" "), put(12, "delta", to=" "))),
            ("ended", without_line(6)),
            ("reason", without_line(-1)),
            ("id", drop(0, "messageId")),
            ("sources", both(first(SOURCE), first(SOURCE))),
            ("agents", without_line(2)),
            ("agents", put(2, "data", to={})),
        )
    ),
]


@pytest.mark.parametrize("client", NAMED)
async def test_a_good_answer_holds_to_every_rule(client: str) -> None:
    async with serving(client) as (backend, _):
        cells = await run_client(NAMED[client], backend, "")
    assert [failure for cell in cells for failure in cell.failures] == []
    assert all(cell.checked for cell in cells)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " / ".join(case[:4]))
async def test_an_answer_that_breaks_a_rule_fails_it(case: Case) -> None:
    client, asked, title, rule, change = case
    async with serving(client, {asked: change}) as (backend, _):
        cells = await run_client(NAMED[client], backend, "")
    failed = {(failure.title, failure.rule) for cell in cells for failure in cell.failures}
    assert (title, rule) in failed


def test_every_rule_is_seen_to_fail() -> None:
    rules = {
        (client.name, probe.title, rule.name) for client in CLIENTS for probe in client.probes for rule in probe.rules
    }
    assert rules - {(client, title, rule) for client, _, title, rule, _ in CASES} == set()


async def test_a_line_split_between_two_http_chunks_breaks_the_web_component() -> None:
    line = json.dumps({"choices": [{"delta": {"content": "Eye exams", "context": CONTEXT}}]}).encode() + b"\n"
    async with serving("chat-component", {"POST chat stream": raw(line[:9])}) as (backend, _):
        cells = await run_client(NAMED["chat-component"], backend, "")
    assert any("HTTP chunk" in failure.sentence for cell in cells for failure in cell.failures)


async def test_a_route_that_is_missing_is_not_offered() -> None:
    gone = dict.fromkeys(good_answers()["chatui-multi-agent"], status(404))
    async with serving("chatui-multi-agent", gone) as (backend, _):
        cells = await run_client(NAMED["chatui-multi-agent"], backend, "")
    assert [(cell.checked, cell.failures) for cell in cells] == [(0, ()), (0, ())]


async def test_a_chat_is_deleted_again_whatever_goes_wrong() -> None:
    async with serving("chatui-history", {"PUT chat-history/1": status(500)}) as (backend, bodies):
        await run_client(NAMED["chatui-history"], backend, "")
    assert len(bodies) == 2 * len(["POST", "PUT", "DELETE"])  # two chats


async def test_the_web_component_sends_its_overrides_directly_in_the_context() -> None:
    async with serving("chat-component") as (backend, bodies):
        await run_client(NAMED["chat-component"], backend, "")
    assert at(bodies, 0, "context", "top") == 1
    assert at(bodies, 0, "context", "approach") == "rrr"


async def test_chatui_sends_messages_and_nothing_else() -> None:
    async with serving("chatui") as (backend, bodies):
        await run_client(NAMED["chatui"], backend, "")
    assert bodies[0] == {"messages": [{"role": "user", "content": "Are eye exams covered?"}]}
