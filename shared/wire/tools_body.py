"""The caller's tools in the body of a request, in the protocols that have them.

Source: OpenAI API reference, `tools` and `tool_choice`, whose limits hold in all of these protocols.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from shared.chat_types import SENDER_LENGTH, SENT_BY, Json, Message, Role, ToolCall, ToolChoice, ToolDefinition
from shared.errors import BadRequest, TooLarge
from shared.tools.arguments import is_deeper
from shared.wire.framing import encode_json
from shared.wire.request_body import BodyModel

MOST_TOOLS = 128
"""Tools in a request."""
MOST_BYTES = 128 * 1024
"""JSON of all tools together, in bytes: each model call of the answer reads them."""
DEEPEST = 32
"""Levels of lists and objects in a JSON schema."""

type ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
type Schema = Annotated[dict[str, Any], Field(description="JSON schema of the arguments, which are an object.")]


class FunctionKeys(BodyModel):
    """A function that the model may call and the caller answers."""

    name: ToolName
    description: str | None = Field(default=None, description="What it does and when to call it, for the model.")
    parameters: Schema | None = None
    strict: bool | None = Field(default=None, description="Whether the model is held to the schema.")


class NamedFunction(TypedDict):
    """A function by its name."""

    name: str


class NamedTool(TypedDict):
    """The tool that has to be called."""

    type: Literal["function"]
    function: NamedFunction


def definitions(functions: Sequence[FunctionKeys]) -> tuple[ToolDefinition, ...]:
    """Make the definitions of the caller's tools.

    Raises:
        BadRequest: two have the same name, or a schema is too deep.
        TooLarge: they are too long together.
    """
    found: dict[str, ToolDefinition] = {}
    for place, function in enumerate(functions):
        if function.name in found:
            raise BadRequest(f"tools[{place}]: another tool has the same name.")
        schema: dict[str, Json] = function.parameters or {"type": "object", "properties": {}}
        if is_deeper(schema, DEEPEST):
            raise BadRequest(f"tools[{place}]: its schema should have at most {DEEPEST} levels.")
        found[function.name] = ToolDefinition(function.name, function.description or "", schema, strict=function.strict)
    if sum(len(encode_json([tool.description, tool.parameters])) for tool in found.values()) > MOST_BYTES:
        raise TooLarge(f"tools: they are over {MOST_BYTES:,} bytes. Send fewer, or shorter descriptions and schemas.")
    return tuple(found.values())


def chosen(
    tools: tuple[ToolDefinition, ...], choice: Json, parallel: bool | None
) -> tuple[tuple[ToolDefinition, ...], ToolChoice]:
    """Return the tools that the model is offered, and how it is to call them.

    Args:
        tools: The caller's.
        choice: `tool_choice` of the request, in the words of any protocol.
        parallel: `parallel_tool_calls` of the request.

    Raises:
        BadRequest: the choice is none that there is.
    """
    named = None
    match choice:
        case "none":
            return (), ToolChoice()
        case (
            {"type": "function", "function": {"name": str(named)}}
            | {"type": "function", "name": str(named)}
            | {"type": "tool", "toolName": str(named)}
        ):
            if named not in {tool.name for tool in tools}:
                raise BadRequest("tool_choice: names a function that is not among the tools.")
        case "required" if not tools:
            raise BadRequest("tool_choice: is 'required', and there are no tools to call.")
        case None | "auto" | "required":
            pass
        case _:
            raise BadRequest("tool_choice: should be 'auto', 'none', 'required', or a function with its name.")
    return tools, ToolChoice(choice not in (None, "auto"), named, parallel)


def tagged(call: ToolCall) -> str:
    """Return the id of a call for the caller: with what came beside the call goes the name of the service it is for."""
    return f"{call.id}~{call.beside[SENT_BY]}" if SENT_BY in call.beside else call.id


def untagged(call_id: str) -> tuple[str, str]:
    """Return the id of a call that a caller sends back, and the name of its service; empty: it has none."""
    own, _, sent_by = call_id.rpartition("~")
    return (own, sent_by) if own and len(sent_by) == SENDER_LENGTH else (call_id, "")


def refuse_other_kinds(tools: Json) -> None:
    """Raise BadRequest for a tool that is no function: nothing here would run it."""
    for place, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") not in (None, "function"):
            raise BadRequest(
                f"tools[{place}].type: should be 'function': only functions that the caller answers can be called."
            )


def steps_of(messages: Sequence[Message]) -> int:
    """Return where the steps since the question begin: calls of the caller's tools, and their results as the last.

    Raises:
        BadRequest: a call has no result, or a result no call.
    """
    begin = max((place for place, message in enumerate(messages) if message.role is Role.USER), default=-1) + 1
    if not begin:
        raise BadRequest("messages: there is no question: no message has the role 'user'.")
    waiting: set[str] = set()
    for place, message in enumerate(messages[begin:], begin):
        if message.role is Role.TOOL:
            if message.tool_call_id not in waiting:
                raise BadRequest(f"messages[{place}]: no call before it waits for a result with its tool_call_id.")
            waiting.discard(message.tool_call_id)
            continue
        _refuse_waiting(place - 1, waiting)
        waiting = _ids(place, message)
    _refuse_waiting(len(messages) - 1, waiting)
    return begin


def _ids(place: int, message: Message) -> set[str]:
    ids = {call.id for call in message.tool_calls}
    if len(ids) < len(message.tool_calls):
        raise BadRequest(f"messages[{place}].tool_calls: each should have an id of its own.")
    return ids


def _refuse_waiting(place: int, waiting: Iterable[str]) -> None:
    if count := len([*waiting]):
        calls = "one call has" if count == 1 else f"{count} calls have"
        raise BadRequest(
            f"messages[{place}]: after it {calls} no result. Send one for each call, with the role 'tool' and its "
            "tool_call_id."
        )
