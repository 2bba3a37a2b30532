"""JSON for the attributes that hold texts, such as `gen_ai.input.messages` and `gen_ai.output.messages`.

Source: OpenTelemetry's GenAI semantic conventions, 'Input messages' and 'Output messages' JSON schemas.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shared.chat_types import Message, Role, ToolCall


def input_messages(messages: Iterable[Message]) -> str:
    """Encode a prompt. Images are reduced to their media types."""
    return _json([{"role": message.role.value, "parts": _parts(message)} for message in messages])


def output_message(
    text: str, reason: str | None, calls: Sequence[ToolCall] = (), author: str | None = None
) -> dict[str, Any]:
    """Make the record of one answer; no reason means that the answer was cut off."""
    ended = "tool_call" if reason == "tool_calls" else reason or "error"
    message = {"role": "assistant", "parts": [*_texts(text), *map(_call, calls)], "finish_reason": ended}
    return {**message, "name": author} if author else message


def output_messages(*messages: dict[str, Any]) -> str:
    """Encode the answers of a model or a team."""
    return _json(list(messages))


def documents(found: Iterable[tuple[str, float | None]]) -> str:
    """Encode the names and scores of the passages found."""
    return _json([{"id": name, "score": score} for name, score in found])


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}]
    images = [{"type": "image", "mime_type": image.media_type} for image in message.images]
    return [*images, *_texts(message.text), *map(_call, message.tool_calls)]


def _texts(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "content": text}] if text else []


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
