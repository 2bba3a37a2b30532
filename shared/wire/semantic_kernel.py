"""`semantic-kernel`: Semantic Kernel's `ChatMessageContent`, as ChatUI documents it and as ChatUI reads it.

Source: chatui-response-formats asks for C#'s keys (`Role.Label`, `Content`, `Items[].Text`); the client in use reads
the flat ones of the Java SDK (`authorRole`, `content`, `metadata`). Both are sent; keys that differ only in case agree.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import assert_never

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.events import ChatEvent, CompletionStarted, Failed, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded
from shared.wire.context import answer_context, retrieved_context, thoughts_json
from shared.wire.framing import SSE
from shared.wire.kernel_body import parse_kernel_chat
from shared.wire.protocol import Protocol, Record, error_record


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_kernel_chat(body, _flat, conversation_keys=("ConversationId", "conversationId"))


def _flat(message: dict[str, Json]) -> Json:
    """A message as the other protocols have it, of one that a client echoes in Semantic Kernel's own shape."""
    role, items = message.get("Role"), message.get("Items")
    flat = dict(message)
    if isinstance(role, dict) and isinstance(label := role.get("Label"), str):
        flat["role"] = label.lower()
    elif isinstance(role, str):
        flat["role"] = role.lower()
    if isinstance(content := message.get("Content"), str):
        flat["content"] = content
    elif isinstance(items, list):
        texts = [item.get("Text") for item in items if isinstance(item, dict)]
        flat["content"] = "".join(text for text in texts if isinstance(text, str))
    return flat


def _answer(request: ChatRequest, answer: Answer) -> Json:
    message: Record = {
        **_message(
            answer.text, {**_completion(answer.completion), **_end(answer.finished), "Context": answer_context(answer)}
        ),
        "Items": [{"$type": "TextContent", "Text": answer.text}],
        "ModelId": answer.completion.model,
        "ConversationId": request.conversation_id or answer.completion.id,
    }
    return [message]


class _Encoder:
    """Events to `StreamingChatMessageContent`s: each record's `Content` is a piece of the text."""

    def __init__(self, request: ChatRequest) -> None:
        self._common: Record = {"ChoiceIndex": 0}
        if request.conversation_id:
            self._common["ConversationId"] = request.conversation_id
        self._metadata: Record = {}
        self._thoughts: tuple[Thought, ...] = ()

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        match event:
            case TextDelta():
                return (self._record(event.text),)
            case Retrieved():
                self._thoughts = event.thoughts
                return (self._record("", {"Context": retrieved_context(event.data_points, event.thoughts)}),)
            case CompletionStarted():
                self._common |= {"ModelId": event.model}
                self._common.setdefault("ConversationId", event.id)
                self._metadata = _completion(event)
                return ()
            case ThoughtsAdded():
                self._thoughts += event.thoughts
                return (self._record("", {"Context": {"thoughts": thoughts_json(self._thoughts)}}),)
            case Finished():
                return self._last(event)
            case Failed():
                return (error_record(event.error, event.invocation_id),)
            case _:
                assert_never(event)

    def _last(self, event: Finished) -> Iterable[Record]:
        yield self._record("", self._metadata | _end(event))
        if event.followup_questions is not None:
            questions = list[Json](event.followup_questions)
            yield self._record("", {"Context": {"followup_questions": questions}})

    def _record(self, text: str, metadata: Record | None = None) -> Record:
        return _message(text, metadata) | self._common


def _message(text: str, metadata: Record | None = None) -> Record:
    """What a message has in any case. No `AuthorName`: the document forbids it in single chat."""
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
    """How it ended, in C#'s words."""
    end: Record = {"FinishReason": finished.reason.replace("_", " ").title().replace(" ", "")}
    if finished.usage:
        end["Usage"] = {
            "InputTokenCount": finished.usage.prompt_tokens,
            "OutputTokenCount": finished.usage.completion_tokens,
            "TotalTokenCount": finished.usage.total_tokens,
        }
    if finished.content_filter_results:
        end["ContentFilterResults"] = finished.content_filter_results
    return end


SEMANTIC_KERNEL = Protocol(
    name="semantic-kernel",
    title="Semantic Kernel's ChatMessageContent, for ChatUI",
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    framing=SSE,
)
