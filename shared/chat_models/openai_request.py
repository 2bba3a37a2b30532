"""Writes the body of a request for a chat completion.

Source: OpenAI API reference, 'Create chat completion'.
"""

from collections.abc import Collection

from shared.chat_models import ModelRequest, ToolDefinition
from shared.chat_types import ImagePart, Json, JsonForm, Message
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
    described: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.strict is not None:
        described["strict"] = tool.strict
    return {"type": "function", "function": described}


def response_format(form: JsonForm) -> Json:
    """Write the form of a JSON answer."""
    if form.schema is None:
        return {"type": "json_object"}
    named: dict[str, Json] = {"name": form.name, "schema": form.schema}
    optional: dict[str, Json] = {"strict": form.strict, "description": form.description}
    given = {key: value for key, value in optional.items() if value is not None}
    return {"type": "json_schema", "json_schema": named | given}


def message_of(message: Message, *, official: bool) -> dict[str, object]:
    """Write a message; to a service that is not OpenAI's own, with what it sent beside its calls."""
    wire: dict[str, object] = {"role": message.role.value, "content": message.text}
    if message.images:
        images = [part for image in message.images for part in _image(image)]
        wire["content"] = [*images, {"type": "text", "text": message.text}]
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            | ({} if official else {key: call.beside[key] for key in call.beside if key != _THOUGHT})
            for call in message.tool_calls
        ]
        if not official and (thought := message.tool_calls[0].beside.get(_THOUGHT)):
            wire[_THOUGHT] = thought
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _image(image: ImagePart) -> list[object]:
    """The parts of an image: its name, if it has one, and the image, whose `data:` URL is made when it is sent."""
    name: list[object] = [{"type": "text", "text": f"{image.name}:"}] if image.name else []
    return [*name, {"type": "image_url", "image_url": {"url": image}}]
