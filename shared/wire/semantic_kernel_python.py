"""`semantic-kernel-python`: the JSON that Semantic Kernel for Python writes and reads.

Source: the package's `ChatMessageContent.model_dump_json()` and `StreamingChatMessageContent`, 1.45. The text lives in
`items` alone: the package would read a `content` beside it as a second item and double the text.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.events import ChatEvent, CompletionStarted, Failed, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded
from shared.wire.context import answer_context, retrieved_context, thoughts_json
from shared.wire.framing import SSE
from shared.wire.kernel_body import parse_kernel_chat
from shared.wire.protocol import Protocol, Record, error_record


def _parse(body: Mapping[str, Json]) -> ChatRequest:
    return parse_kernel_chat(body, _flat, conversation_keys=("conversation_id",))


def _flat(message: dict[str, Json]) -> Json:
    """A message as the other protocols have it, of one that the package wrote: its text is in its items."""
    if "content" in message or not isinstance(items := message.get("items"), list):
        return message
    texts = [item.get("text") for item in items if isinstance(item, dict) and item.get("content_type") == "text"]
    return message | {"content": "".join(text for text in texts if isinstance(text, str))}


def _answer(request: ChatRequest, answer: Answer) -> Json:
    metadata: Record = {
        **_completion(request, answer.completion),
        **_end(answer.finished),
        **answer_context(answer),
    }
    return [_message(answer.text, answer.completion.model, metadata, answer.finished.reason)]


class _Encoder:
    """Events to `StreamingChatMessageContent`s, which the package adds up to the whole message.

    It adds only those with the same `ai_model_id`, and the first one is there before the model has a name: so none
    has one, and the metadata of the end tells it. Metadata is merged key by key.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._metadata: Record = {}
        self._thoughts: tuple[Thought, ...] = ()

    def encode(self, event: ChatEvent) -> Iterable[Record]:
        match event:
            case TextDelta():
                return (_streamed(event.text, {}),)
            case Retrieved():
                self._thoughts = event.thoughts
                return (_streamed("", retrieved_context(event.data_points, event.thoughts)),)
            case CompletionStarted():
                self._metadata = {**_completion(self._request, event), "model": event.model}
                return ()
            case ThoughtsAdded():
                self._thoughts += event.thoughts
                return (_streamed("", {"thoughts": thoughts_json(self._thoughts)}),)
            case Finished():
                return self._last(event)
            case Failed():
                return (error_record(event.error, event.invocation_id),)
            case _:
                assert_never(event)

    def _last(self, event: Finished) -> Iterable[Record]:
        yield _streamed("", {**self._metadata, **_end(event)}, event.reason)
        if event.followup_questions is not None:
            yield _streamed("", {"followup_questions": list[Json](event.followup_questions)})


def _streamed(text: str, metadata: Record, reason: str | None = None) -> Record:
    return {"choice_index": 0, **_message(text, None, metadata, reason), "function_invoke_attempt": 0}


def _message(text: str, model: str | None, metadata: Record, reason: str | None) -> Record:
    """A message with the package's keys in its order."""
    item: Record = {"ai_model_id": None, "metadata": {}, "content_type": "text", "text": text, "encoding": None}
    return {
        "ai_model_id": model,
        "metadata": metadata,
        "content_type": "message",
        "role": "assistant",
        "name": None,
        "items": [item] if text else [],
        "encoding": None,
        "finish_reason": reason,
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
    if usage := finished.usage:
        end["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "prompt_tokens_details": None,
            "completion_tokens": usage.completion_tokens,
            "completion_tokens_details": None,
        }
    if finished.content_filter_results:
        end["content_filter_results"] = finished.content_filter_results
    return end


SEMANTIC_KERNEL_PYTHON = Protocol(
    name="semantic-kernel-python",
    title="Semantic Kernel for Python's ChatMessageContent",
    parse=_parse,
    answer=_answer,
    encoder=_Encoder,
    framing=SSE,
)
