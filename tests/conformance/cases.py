"""What breaks each rule of the front ends of the RAG documents, of ChatUI and of Semantic Kernel."""

from tests.conformance.reading import Json
from tests.conformance.rules import READS
from tests.conformance.spoiling import Change, both, drop, first, put, raw, status, without_line

CHAT = "a chat from its start to its end"
M, C = (0, "message"), (0, "choices", 0)
BAD_THOUGHTS: Json = [{"title": "Results", "props": "none"}]
NO_TEXT: Json = {"data_points": {"text": "plan.pdf: Eye exams"}, "thoughts": []}
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
]
