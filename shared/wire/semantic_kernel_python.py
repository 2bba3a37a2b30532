"""`semantic-kernel-python`: the JSON that Semantic Kernel for Python writes and reads.

Source: the package's `ChatMessageContent.model_dump_json()` and `StreamingChatMessageContent`, 1.45. The text lives in
`items` alone: the package would read a `content` beside it as a second item and double the text.
"""

from collections.abc import Iterable, Sequence

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer
from shared.events import CompletionStarted, FilterAnnotation, Finished, OpenCall, ToolEnded, Usage
from shared.wire.consent import cut_arguments, cut_text, in_words
from shared.wire.context import answer_context, filtered_context
from shared.wire.framing import SSE
from shared.wire.kernel import KernelEncoder, parse_kernel_chat, sent_files
from shared.wire.protocol import Protocol, Record

_REASONS = ("stop", "length", "content_filter", "tool_calls", "function_call")
"""The reasons that the package knows."""


def _whole(request: ChatRequest, answer: Answer) -> Record:
    """A whole message. An agent's has its name."""
    items = _call_items((*answer.tool_calls, *answer.open_calls))
    answer = in_words(request, answer)
    metadata: Record = {
        **_completion(request, answer.completion),
        **_end(answer.finished),
        **answer_context(request, answer),
    }
    message = _message(answer.text, answer.completion.model, metadata, answer.finished.reason, items)
    if answer.message is None:
        return message
    if answer.message.total_usage:
        metadata["total_usage"] = _usage(answer.message.total_usage)
    return message | {"name": answer.message.agent}


class _Encoder(KernelEncoder):
    """Encodes an answer as `StreamingChatMessageContent`s, which the package adds up to the whole message.

    It adds only those with the same `ai_model_id`, and the first record comes before the model has a name. So no
    record has one, and the metadata of the last has the model. The package merges metadata key by key.
    """

    def _text(self, text: str) -> Record:
        return _streamed(text, {})

    def _call_record(self, calls: Iterable[ToolEnded | OpenCall]) -> Record:
        return _streamed("", {}, items=_call_items(calls))

    def _context(self, context: Record) -> Record:
        return _streamed("", context)

    def _annotation(self, event: FilterAnnotation) -> Record:
        return _streamed("", filtered_context(None, event.content_filter_results, event.content_filter_offsets))

    def _end(self, finished: Finished) -> Record:
        metadata: Record = {}
        if self._has_begun:
            metadata = _completion(self._request, self._turn) | {"model": self._turn.model}
        return _streamed("", metadata | _end(finished), finished.reason)

    def _whole(self, request: ChatRequest, answer: Answer) -> Record:
        return _whole(request, answer)


def _streamed(text: str, metadata: Record, reason: str | None = None, items: Sequence[Json] = ()) -> Record:
    return {"choice_index": 0, **_message(text, None, metadata, reason, items), "function_invoke_attempt": 0}


def _call_items(calls: Iterable[ToolEnded | OpenCall]) -> list[Json]:
    """Calls of tools, each with its result if it has one."""
    items: list[Json] = []
    for call in calls:
        common: Record = {"ai_model_id": None, "metadata": {}}
        ids: Record = {"id": call.call_id, "call_id": call.call_id}
        named: Record = {
            "name": f"{call.server}-{call.tool}",
            "function_name": call.tool,
            "plugin_name": call.server,
        }
        arguments = cut_arguments(call)
        items.append(
            common | {"content_type": "function_call"} | ids | {"index": None} | named | {"arguments": arguments}
        )
        if isinstance(call, ToolEnded):
            result: Record = {"result": cut_text(call.text)}
            items.append(common | {"content_type": "function_result"} | ids | result | named | {"encoding": None})
    return items


def _message(text: str, model: str | None, metadata: Record, reason: str | None, items: Sequence[Json] = ()) -> Record:
    """A message with the package's keys in its order; the package knows no reason but these."""
    item: Record = {"ai_model_id": None, "metadata": {}, "content_type": "text", "text": text, "encoding": None}
    return {
        "ai_model_id": model,
        "metadata": metadata,
        "content_type": "message",
        "role": "assistant",
        "name": None,
        "items": [*items, *([item] if text else [])],
        "encoding": None,
        "finish_reason": reason if reason in _REASONS else None,
        "status": None,
    }


def _completion(request: ChatRequest, started: CompletionStarted) -> Record:
    metadata: Record = {
        "id": started.id,
        "created": started.created,
        "system_fingerprint": started.system_fingerprint,
        "conversation_id": request.chat.conversation_id or started.id,
    }
    return metadata | filtered_context(started.prompt_filter_results)


def _end(finished: Finished) -> Record:
    usage: Record = {"usage": _usage(finished.usage)} if finished.usage else {}
    usage |= {"unsupported": True} if finished.is_unsupported else {}
    return usage | filtered_context(finished.prompt_filter_results, finished.content_filter_results)


def _usage(usage: Usage) -> Record:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "prompt_tokens_details": None,
        "completion_tokens": usage.completion_tokens,
        "completion_tokens_details": None,
    }


SEMANTIC_KERNEL_PYTHON = Protocol(
    name="semantic-kernel-python",
    parse=lambda body: parse_kernel_chat(body, "conversation_id"),
    sent_files=sent_files,
    answer=lambda request, answer: [_whole(request, answer)],
    encoder=_Encoder,
    framing=SSE,
)
