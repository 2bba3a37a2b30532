"""`semantic-kernel-python`: the JSON that Semantic Kernel for Python writes and reads.

Source: the package's `ChatMessageContent.model_dump_json()` and `StreamingChatMessageContent`, 1.45. The text lives in
`items` alone: the package would read a `content` beside it as a second item and double the text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
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
from shared.wire.context import answer_context, filtered_context, retrieved_context, thoughts_json
from shared.wire.framing import SSE
from shared.wire.kernel_body import parse_kernel_chat
from shared.wire.protocol import Protocol, Record, error_record

_REASONS = ("stop", "length", "content_filter", "tool_calls", "function_call")


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_kernel_chat(body, _flat, conversation_keys=("conversation_id",))


def _flat(message: dict[str, Json]) -> Json:
    """A message as the other protocols have it, of one that the package wrote: its text is in its items."""
    if "content" in message or not isinstance(items := message.get("items"), list):
        return message
    texts = [item.get("text") for item in items if isinstance(item, dict) and item.get("content_type") == "text"]
    return message | {"content": "".join(text for text in texts if isinstance(text, str))}


def _answer(request: ChatRequest, answer: Answer) -> Json:
    return [_whole(request, answer)]


def _whole(request: ChatRequest, answer: Answer) -> Record:
    """A whole message. An agent's has its name."""
    metadata: Record = {
        **_completion(request, answer.completion),
        **_end(answer.finished),
        **answer_context(answer),
    }
    message = _message(answer.text, answer.completion.model, metadata, answer.finished.reason)
    if answer.message is None:
        return message
    if answer.message.total_usage:
        metadata["total_usage"] = _usage(answer.message.total_usage)
    return message | {"name": answer.message.agent}


class _Encoder:
    """Events to `StreamingChatMessageContent`s, which the package adds up to the whole message.

    It adds only those with the same `ai_model_id`, and the first one is there before the model has a name: so none
    has one, and the metadata of the end tells it. Metadata is merged key by key.

    What an agent of a team says is a whole `ChatMessageContent`, and its stream has nothing else.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._turn = CompletionStarted("", 0, "")
        self._is_team = False
        self._metadata: Record = {}
        self._thoughts: tuple[Thought, ...] = ()

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        match event:
            case TextDelta():
                return (_streamed(event.text, {}),)
            case Retrieved():
                self._thoughts = event.thoughts
                return (_streamed("", retrieved_context(event.data_points, event.thoughts, event.images)),)
            case CompletionStarted():
                self._turn = event
                self._metadata = {**_completion(self._request, event), "model": event.model}
                return ()
            case AgentMessage():
                self._is_team = True
                asked = replace(self._request, conversation_id=self._request.conversation_id or self._turn.id)
                return (_whole(asked, agent_answer(event, self._turn)),)
            case ThoughtsAdded():
                self._thoughts += event.thoughts
                late = _streamed("", {"thoughts": thoughts_json(self._thoughts)})
                return () if self._is_team else (late,)
            case Finished():
                return () if self._is_team else self._last(event)
            case FilterAnnotation():
                found = filtered_context(answer=event.content_filter_results, offsets=event.content_filter_offsets)
                return (_streamed("", found),)
            case Failed():
                return self._failed(event)
            case _:
                assert_never(event)

    def _last(self, event: Finished) -> Iterable[Record]:
        yield _streamed("", {**self._metadata, **_end(event)}, event.reason)
        if event.followup_questions is not None:
            yield _streamed("", {"followup_questions": list[Json](event.followup_questions)})

    def _failed(self, event: Failed) -> Iterable[Record]:
        if isinstance(event.error, ContentFiltered) and not self._is_team:
            end = Finished(event.error.code, content_filter_results=event.error.results)
            yield _streamed("", {**self._metadata, **_end(end)}, end.reason)
        yield error_record(event.error, event.invocation_id)


def _streamed(text: str, metadata: Record, reason: str | None = None) -> Record:
    return {"choice_index": 0, **_message(text, None, metadata, reason), "function_invoke_attempt": 0}


def _message(text: str, model: str | None, metadata: Record, reason: str | None) -> Record:
    """A message with the package's keys in its order; the package knows no reason but these."""
    item: Record = {"ai_model_id": None, "metadata": {}, "content_type": "text", "text": text, "encoding": None}
    return {
        "ai_model_id": model,
        "metadata": metadata,
        "content_type": "message",
        "role": "assistant",
        "name": None,
        "items": [item] if text else [],
        "encoding": None,
        "finish_reason": reason if reason in _REASONS else None,
        "status": None,
    }


def _completion(request: ChatRequest, started: CompletionStarted) -> Record:
    metadata: Record = {
        "id": started.id,
        "created": started.created,
        "system_fingerprint": started.system_fingerprint,
        "conversation_id": request.conversation_id or started.id,
    }
    if started.prompt_filter_results:
        metadata["prompt_filter_results"] = started.prompt_filter_results
    return metadata


def _end(finished: Finished) -> Record:
    end: Record = {}
    if finished.usage:
        end["usage"] = _usage(finished.usage)
    if finished.prompt_filter_results:
        end["prompt_filter_results"] = finished.prompt_filter_results
    if finished.content_filter_results:
        end["content_filter_results"] = finished.content_filter_results
    return end


def _usage(usage: Usage) -> Record:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "prompt_tokens_details": None,
        "completion_tokens": usage.completion_tokens,
        "completion_tokens_details": None,
    }


SEMANTIC_KERNEL_PYTHON = Protocol(
    name="semantic-kernel-python",
    title="Semantic Kernel for Python's ChatMessageContent",
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    framing=SSE,
)
