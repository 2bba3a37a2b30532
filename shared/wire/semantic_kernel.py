"""`semantic-kernel`: Semantic Kernel's `ChatMessageContent`, as ChatUI documents it and as ChatUI reads it.

Source: chatui-response-formats asks for C#'s keys (`Role.Label`, `Content`, `Items[].Text`); the client in use reads
the flat ones of the Java SDK (`authorRole`, `content`, `metadata`). Both are sent; keys that differ only in case agree.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.errors import ContentFiltered, error_text
from shared.events import ChatEvent, CompletionStarted, Failed, FilterAnnotation, Finished, OpenCall, ToolEnded, Usage
from shared.wire.consent import arguments_of, cut_text, in_words
from shared.wire.context import answer_context
from shared.wire.framing import SSE
from shared.wire.kernel import KernelEncoder, parse_kernel_chat, sent_files
from shared.wire.protocol import Protocol, Record


def _whole(request: ChatRequest, answer: Answer) -> Record:
    """A whole message. An agent's has its author's name, which the document forbids in single chat."""
    items = _call_items((*answer.tool_calls, *answer.open_calls))
    answer = in_words(request, answer)
    metadata: Record = _completion(answer.completion) | _end(answer.finished)
    metadata["Context"] = answer_context(request, answer)
    author: Record = {}
    if said := answer.message:
        author = _author(metadata, said.agent)
        if said.error:
            metadata["error"] = said.error.code
        if said.total_usage:
            metadata["TotalUsage"] = _usage(said.total_usage)
    return {
        **_message(answer.text, metadata),
        **author,
        "Items": [*items, {"$type": "TextContent", "Text": answer.text}],
        "ModelId": answer.completion.model,
        "ConversationId": request.chat.conversation_id or answer.completion.id,
    }


def _error_message(request: ChatRequest, failed: Failed) -> Record:
    """A failed turn as one whole message: ChatUI shows no error, whatever its status. A team's is by `team`.

    Source: ChatUI's ChatContext.tsx, which keeps an error as a `system` message, and its MessageBubble.tsx and
    ChatMessagePanel.tsx, which leave those out (microsoft/ai-developer at ac7a5e0, 2026-03-28).
    """
    error, text = failed.error, error_text(failed.error, failed.invocation_id)
    results = error.results if isinstance(error, ContentFiltered) else None
    metadata: Record = {"Id": failed.invocation_id, **_end(Finished(error.code, content_filter_results=results))}
    metadata["error"] = error.code
    return {
        **_message(text, metadata),
        **(_author(metadata, "team") if request.team else {}),
        "Items": [{"$type": "TextContent", "Text": text}],
        "ModelId": "",
        "ConversationId": request.chat.conversation_id or failed.invocation_id,
    }


class _Encoder(KernelEncoder):
    """Encodes an answer as `StreamingChatMessageContent`s: each record's `Content` is a piece of the text."""

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request)
        self._common: Record = {"ChoiceIndex": 0}
        if request.chat.conversation_id:
            self._common["ConversationId"] = request.chat.conversation_id

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        if isinstance(event, CompletionStarted):
            self._common |= {"ModelId": event.model}
            self._common.setdefault("ConversationId", event.id)
        return super().encode(event)

    def _text(self, text: str) -> Record:
        return _message(text) | self._common

    def _call_record(self, calls: Iterable[ToolEnded | OpenCall]) -> Record:
        items: Record = {"Items": _call_items(calls)}
        return _message("") | items | self._common

    def _context(self, context: Record) -> Record:
        return self._record({"Context": context})

    def _annotation(self, event: FilterAnnotation) -> Record:
        return self._record(
            {
                "ContentFilterResults": event.content_filter_results,
                "ContentFilterOffsets": event.content_filter_offsets,
            }
        )

    def _end(self, finished: Finished) -> Record:
        return self._record((_completion(self._turn) if self._has_begun else {}) | _end(finished))

    def _whole(self, request: ChatRequest, answer: Answer) -> Record:
        return _whole(request, answer)

    def _record(self, metadata: Record) -> Record:
        return _message("", metadata) | self._common


class _MessageEncoder(_Encoder):
    """Encodes an answer in the same way, and an error as a message."""

    def _failed(self, event: Failed) -> Iterable[Record]:
        return (self._told(event),)

    def _told(self, failed: Failed) -> Record:
        return _error_message(self._request, failed)


def _author(metadata: Record, name: str) -> Record:
    """Return the keys with the author of a team's message, and add the name to the metadata."""
    metadata["authorName"] = name
    return {"AuthorName": name, "authorName": name}


def _call_items(calls: Iterable[ToolEnded | OpenCall]) -> list[Json]:
    """Calls of tools, each with its result if it has one."""
    items: list[Json] = []
    for call in calls:
        named: Record = {"PluginName": call.server, "FunctionName": call.tool}
        arguments: Json = arguments_of(call)
        items.append({"$type": "FunctionCallContent", "Id": call.call_id, **named, "Arguments": arguments})
        if isinstance(call, ToolEnded):
            result = cut_text(call.text)
            items.append({"$type": "FunctionResultContent", "CallId": call.call_id, **named, "Result": result})
    return items


def _message(text: str, metadata: Record | None = None) -> Record:
    """Make the keys that every message has."""
    message: Record = {
        "Role": {"Label": "Assistant"},
        "Content": text,
        "authorRole": "ASSISTANT",
        "content": text,
        "toolCall": None,
    }
    if metadata:
        message |= {"Metadata": metadata, "metadata": metadata}
    return message


def _completion(started: CompletionStarted) -> Record:
    created = datetime.fromtimestamp(started.created, UTC).isoformat()
    metadata: Record = {"Id": started.id, "CreatedAt": created, "SystemFingerprint": started.system_fingerprint}
    if started.prompt_filter_results:
        metadata["PromptFilterResults"] = started.prompt_filter_results
    return metadata


def _end(finished: Finished) -> Record:
    """Make the keys that say how the answer ended, in C#'s words."""
    end: Record = {"FinishReason": finished.reason.replace("_", " ").title().replace(" ", "")}
    if finished.usage:
        end["Usage"] = _usage(finished.usage)
    if finished.prompt_filter_results:
        end["PromptFilterResults"] = finished.prompt_filter_results
    if finished.content_filter_results:
        end["ContentFilterResults"] = finished.content_filter_results
    if finished.is_unsupported:
        end["Unsupported"] = True
    return end


def _usage(usage: Usage) -> Record:
    return {
        "InputTokenCount": usage.prompt_tokens,
        "OutputTokenCount": usage.completion_tokens,
        "TotalTokenCount": usage.total_tokens,
    }


SEMANTIC_KERNEL = Protocol(
    name="semantic-kernel",
    parse=lambda body: parse_kernel_chat(body, "ConversationId", "conversationId"),
    sent_files=sent_files,
    answer=lambda request, answer: [_whole(request, answer)],
    encoder=_Encoder,
    framing=SSE,
    waits_briefly=True,
    links_citations=True,
    message_encoder=_MessageEncoder,
)
