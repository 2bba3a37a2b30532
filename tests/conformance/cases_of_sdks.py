"""What breaks each rule of OpenAI's SDKs, `@ag-ui/client` and the AI SDK."""

from tests.conformance.cases import ERROR_LINE, Case
from tests.conformance.reading import Json
from tests.conformance.rules import READS
from tests.conformance.spoiling import both, drop, first, put, raw, status, without_line

C = (0, "choices", 0)
PART = ("output", 0, "content", 0)
CITED = (*C, "message", "annotations", 0, "url_citation")
CUSTOM: Json = {"type": "CUSTOM", "name": "other", "value": None}
TEXT_END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m10"}
SOURCE: Json = {"type": "source-url", "sourceId": "x", "url": "https://example.com/x", "title": "x"}

CASES_OF_SDKS: list[Case] = [
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
    *(
        (client, asked, "a tool that has to be called", "called", change)
        for client, asked, calls, arguments in (
            ("openai", "POST chat/completions tools", (*C, "message", "tool_calls"), ("function", "arguments")),
            ("openai-responses", "POST responses tools", (0, "output"), ("arguments",)),
        )
        for change in (
            put(*calls, to=[]),
            put(*calls, 0, *arguments, to="[1]"),
            put(*calls, 0, *arguments[:-1], "name", to="other"),
            status(500),
        )
    ),
    (
        "openai",
        "POST chat/completions tools",
        "a tool that has to be called",
        "called",
        put(*C, "finish_reason", to="stop"),
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
        ("ag-ui", "POST chat bad", "a bad request", rule, change)
        for rule, change in (("status", status(200)), ("code", put(0, "error", to="No messages.")))
    ),
    *(
        ("ag-ui", "POST chat unsafe", "a refused question", rule, change)
        for rule, change in (
            (READS, status(400)),
            ("run", put(0, "runId", to="other")),
            ("end", without_line(-1)),
            ("error", drop(1, "code")),
        )
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
            ("sources apart", put(6, to=SOURCE)),
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
