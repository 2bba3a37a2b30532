"""Payloads that a turn sends to a safety service: the question as OpenAI's chat request, the answer as its chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from shared.chat_types import ChatRequest, Message, Role, ToolDefinition
from shared.guard import Api, Buffer, Place, Side

ANSWER = Place(Side.COMPLETION, "0", 0)
"""The answer's text."""
MORE = Place(Side.COMPLETION, "1", 0)
"""Other texts that a model wrote for the answer: follow-up questions and search queries."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """A message of the chat request that is sent to the safety service."""

    place: Place
    """Its address in the service's results."""
    role: Role
    """Role of its author."""
    text: str
    """Its text; empty if it has only images."""


def prompt_texts(request: ChatRequest) -> list[PromptText]:
    """All texts of the caller that may reach a model, message by message.

    These are the messages with the texts of their files and all of their tool calls, the results of tools since the
    question, and after them the prompt template, the language, the form of the answer and the caller's tools as a
    system message. Images are left out.
    """
    messages = request.messages[-1:] if request.single_turn else request.messages
    said = [(message.role, _written(message)) for message in (*messages, *request.steps)]
    overrides = request.overrides
    form = msgspec.json.encode([request.form.description, request.form.schema]).decode() if request.form else None
    more = (overrides.prompt_template, overrides.language, form, *map(_described, request.tools))
    if wishes := "\n\n".join(wish for wish in more if wish):
        said.append((Role.SYSTEM, wishes))
    return [PromptText(Place(Side.PROMPT, str(index), 0), role, text) for index, (role, text) in enumerate(said)]


def prompt_buffer(texts: Sequence[PromptText], model: str) -> Buffer:
    """A chat request with these messages."""
    messages = [{"role": said.role.value, "content": said.text} for said in texts]
    return _buffer(Side.PROMPT, {"model": model, "messages": messages})


def answer_buffer(place: Place, text: str, answer_id: str, model: str, created: int) -> Buffer:
    """A chunk that adds a piece to a text of the answer.

    Args:
        place: The text.
        text: The piece.
        answer_id: Id of the answer, the same in all of its chunks.
        model: Name of the model.
        created: Time at which the answer began, in Unix seconds.
    """
    choice = {"index": int(place.message_id), "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": answer_id, "object": "chat.completion.chunk", "created": created, "model": model}
    return _buffer(Side.COMPLETION, {**chunk, "choices": [choice]})


def _described(tool: ToolDefinition) -> str:
    return f"{tool.name} {tool.description} {msgspec.json.encode(tool.parameters).decode()}"


def _written(message: Message) -> str:
    calls = [f"{call.id} {call.name} {call.arguments}" for call in message.tool_calls]
    return "\n\n".join(text for text in (message.text, message.tool_call_id, *calls) if text)


def _buffer(side: Side, payload: object) -> Buffer:
    return Buffer(side, Api.CHAT_COMPLETION, msgspec.json.encode(payload).decode())
