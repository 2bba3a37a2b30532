"""`semantic-kernel`: Semantic Kernel's `ChatMessageContent`, as ChatUI documents it and as ChatUI reads it.

Source: chatui-response-formats asks for C#'s keys (`Role.Label`, `Content`, `Items[].Text`); the client in use reads
the flat ones of the Java SDK (`authorRole`, `content`, `metadata`). Both are sent; keys that differ only in case agree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, agent_answer
from shared.errors import ContentFiltered
from shared.events import (
    AgentMessage,
    ChatEvent,
    CompletionStarted,
    Failed,
    FilterAnnotation,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    Usage,
)
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
    return [_whole(request, answer)]


def _whole(request: ChatRequest, answer: Answer) -> Record:
    """A whole message. An agent's has its author's name, which the document forbids in single chat."""
    metadata: Record = _completion(answer.completion) | _end(answer.finished)
    metadata["Context"] = answer_context(answer)
    author: Record = {}
    if said := answer.message:
        author = {"AuthorName": said.agent, "authorName": said.agent}
        metadata["authorName"] = said.agent
        if said.error:
            metadata["error"] = said.error.code
        if said.total_usage:
            metadata["TotalUsage"] = _usage(said.total_usage)
    return {
        **_message(answer.text, metadata),
        **author,
        "Items": [{"$type": "TextContent", "Text": answer.text}],
        "ModelId": answer.completion.model,
        "ConversationId": request.conversation_id or answer.completion.id,
    }


class _Encoder:
    """Events to `StreamingChatMessageContent`s: each record's `Content` is a piece of the text.

    What an agent of a team says is a whole message, and its stream has nothing else: ChatUI shows each record.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._turn = CompletionStarted("", 0, "")
        self._is_team = False
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
                return (
                    self._record("", {"Context": retrieved_context(event.data_points, event.thoughts, event.images)}),
                )
            case CompletionStarted():
                self._turn = event
                self._common |= {"ModelId": event.model}
                self._common.setdefault("ConversationId", event.id)
                self._metadata = _completion(event)
                return ()
            case AgentMessage():
                self._is_team = True
                asked = replace(self._request, conversation_id=self._request.conversation_id or self._turn.id)
                return (_whole(asked, agent_answer(event, self._turn)),)
            case ThoughtsAdded():
                self._thoughts += event.thoughts
                late = self._record("", {"Context": {"thoughts": thoughts_json(self._thoughts)}})
                return () if self._is_team else (late,)
            case Finished():
                return () if self._is_team else self._last(event)
            case FilterAnnotation():
                found: Record = {
                    "ContentFilterResults": event.content_filter_results,
                    "ContentFilterOffsets": event.content_filter_offsets,
                }
                return (self._record("", found),)
            case Failed():
                return self._failed(event)
            case _:
                assert_never(event)

    def _last(self, event: Finished) -> Iterable[Record]:
        yield self._record("", self._metadata | _end(event))
        if event.followup_questions is not None:
            questions = list[Json](event.followup_questions)
            yield self._record("", {"Context": {"followup_questions": questions}})

    def _failed(self, event: Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered) and not self._is_team:
            end = Finished(event.error.code, content_filter_results=event.error.results)
            yield self._record("", self._metadata | _end(end))
        yield error_record(event.error, event.invocation_id)

    def _record(self, text: str, metadata: Record | None = None) -> Record:
        return _message(text, metadata) | self._common


def _message(text: str, metadata: Record | None = None) -> Record:
    """What a message has in any case."""
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
        end["Usage"] = _usage(finished.usage)
    if finished.prompt_filter_results:
        end["PromptFilterResults"] = finished.prompt_filter_results
    if finished.content_filter_results:
        end["ContentFilterResults"] = finished.content_filter_results
    return end


def _usage(usage: Usage) -> Record:
    return {
        "InputTokenCount": usage.prompt_tokens,
        "OutputTokenCount": usage.completion_tokens,
        "TotalTokenCount": usage.total_tokens,
    }


SEMANTIC_KERNEL = Protocol(
    name="semantic-kernel",
    title="Semantic Kernel's ChatMessageContent, for ChatUI",
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    framing=SSE,
)
