"""Writes the body of a request for a chat completion.

Source: OpenAI API reference, 'Create chat completion'.
"""

import hashlib
from collections.abc import Collection

from shared.chat_models import ModelRequest, ToolDefinition
from shared.chat_types import SENDER_LENGTH, SENT_BY, ImagePart, Json, JsonForm, Message
from shared.outbound.openai_service.connection import THINKING_WITH_TOOLS

LONGEST_ANSWER = ("max_completion_tokens", "max_tokens")
"""Names of the output limit. OpenAI's reasoning models refuse the second, older one; some services lack the first."""
EFFORT = "reasoning_effort"
"""Its values differ by model, so that a model that refuses one may take another."""
_THOUGHT = "reasoning_content"


def supported(body: dict[str, object], left_out: Collection[str]) -> dict[str, object]:
    """Remove the parameters that the model does not support; a refused output limit gets its other name."""
    sent = {name: value for name, value in body.items() if name not in left_out}
    if f"{EFFORT}={body.get(EFFORT)}" in left_out:
        del sent[EFFORT]
    if THINKING_WITH_TOOLS in left_out and "tools" in body:
        sent[EFFORT] = "none"
    for name, other in zip(LONGEST_ANSWER, reversed(LONGEST_ANSWER), strict=True):
        if name in body and name in left_out and other not in left_out:
            sent[other] = body[name]
    return sent


def tools_of(request: ModelRequest) -> dict[str, object]:
    """Write the tools of a call, and whether it has to call one."""
    if not request.tools:
        return {}
    choice = request.tool_choice
    named = {"type": "function", "function": {"name": choice.named}} if choice.named else None
    return {
        "tools": [_tool(tool) for tool in request.tools],
        "tool_choice": named or ("required" if choice.must_call else None),
        "parallel_tool_calls": choice.parallel,
    }


def _tool(tool: ToolDefinition) -> Json:
    described: dict[str, Json] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": described | _given(strict=tool.strict)}


def response_format(form: JsonForm) -> Json:
    """Write the form of a JSON answer."""
    if form.schema is None:
        return {"type": "json_object"}
    named: dict[str, Json] = {"name": form.name, "schema": form.schema}
    return {"type": "json_schema", "json_schema": named | _given(strict=form.strict, description=form.description)}


def _given(**optional: Json) -> dict[str, Json]:
    return {key: value for key, value in optional.items() if value is not None}


def sender(address: str, model: str) -> str:
    """Return a short name of a service and a model, for `SENT_BY`."""
    return hashlib.sha256(f"{address} {model}".encode()).hexdigest()[:SENDER_LENGTH]


def message_of(message: Message, service: str | None) -> dict[str, object]:
    """Write a message for a service, by its short name, with what it sent beside its calls.

    What came back from a caller without a name goes to any service but OpenAI's own (None), which sends no such thing.
    """
    wire: dict[str, object] = {"role": message.role.value, "content": message.text}
    if message.images:
        images = [part for image in message.images for part in _image(image)]
        wire["content"] = [*images, {"type": "text", "text": message.text}]
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = calls = list[dict[str, object]]()
        for call in message.tool_calls:
            function = {"name": call.name, "arguments": call.arguments}
            calls.append({"id": call.id, "type": "function", "function": function})
            if service and call.beside.get(SENT_BY, service) == service:
                calls[-1] |= {key: value for key, value in call.beside.items() if key not in (_THOUGHT, SENT_BY)}
                wire |= {_THOUGHT: thought} if (thought := call.beside.get(_THOUGHT)) else {}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _image(image: ImagePart) -> list[object]:
    """The parts of an image: its name, if it has one, and the image, whose `data:` URL is made when it is sent."""
    name: list[object] = [{"type": "text", "text": f"{image.name}:"}] if image.name else []
    return [*name, {"type": "image_url", "image_url": {"url": image}}]
