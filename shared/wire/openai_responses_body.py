"""The request body of `openai-responses`: an `input` of items, their content in parts, and files in base64.

Source: OpenAI API reference, 'Create a model response'. What refers to an answer that is kept is put into the input
before it is parsed (`openai_responses_references`); what refers to something else is refused by name: an answer without
it would look complete. Other keys that the app cannot honour are ignored.
"""

from collections.abc import Iterator, Mapping
from copy import replace
from typing import Annotated, Literal, TypedDict, cast

from pydantic import FailFast, Field, SkipValidation

from shared.chat_types import ChatRequest, Decision, Json
from shared.errors import BadRequest
from shared.wire import openai_request as openai
from shared.wire.chat_body import LONGEST_CONVERSATION
from shared.wire.consent import reason_in
from shared.wire.message_parts import SentFile, files_in, text_in
from shared.wire.openai_request import TextFormat, form_of
from shared.wire.request_body import BodyModel
from shared.wire.tools_body import MOST_TOOLS, FunctionKeys, refuse_other_kinds

_REFUSED = {
    "conversation": "should be left out: send 'previous_response_id', or the whole conversation in 'input'.",
    "prompt": "should be left out: no prompts are kept here. Send its text in 'instructions'.",
}
"""Keys with which the answer would be another one than the caller expects."""
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
"""The roles of messages, and what they are in the other protocols."""
_REPEATED = ("tool_choice", "parallel_tool_calls", "max_output_tokens")
"""Keys that a response repeats, as clients check them."""
APPROVAL = "mcpr_"
"""What ids of questions for consent begin with."""


class TextKeys(BodyModel):
    """The form of the text."""

    format: TextFormat | None = None


class OpenaiResponsesTool(FunctionKeys):
    """A tool that the caller answers."""

    type: Literal["function"]


class OpenaiNamedTool(TypedDict):
    """The tool that has to be called."""

    type: Literal["function"]
    name: str


class ReasoningKeys(BodyModel):
    """How the model thinks."""

    effort: openai.Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = Field(
        default=None, description="Is repeated in the response, which has what the model thought in any case."
    )


class OpenaiResponsesKeys(openai.ModelKeys):
    """Keys of a request besides the conversation."""

    tools: Annotated[list[OpenaiResponsesTool], FailFast()] | None = Field(default=None, max_length=MOST_TOOLS)
    tool_choice: SkipValidation[Literal["auto", "none", "required"] | OpenaiNamedTool | None] = Field(
        default=None, description="Whether the model may, must not or must call one of the tools, or which one."
    )
    max_output_tokens: int | None = Field(default=None, ge=1, description="The most tokens of the answer.")

    store: bool | None = Field(
        default=None, description="Whether the answer is kept for a day. Default: true, where chats are kept."
    )
    background: bool | None = Field(
        default=None, description="Whether to answer at once, and to make the response meanwhile."
    )
    previous_response_id: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The response that the conversation goes on from."
    )
    instructions: str | None = Field(default=None, description="A system message for this answer alone.")
    text: TextKeys | None = None
    reasoning: ReasoningKeys | None = None


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
        NotFound: there is no model of that name.
    """
    _refuse(body)
    keys = OpenaiResponsesKeys.read(body)
    decisions = decisions_in(body)
    messages: list[Json] = [] if decisions else [_flat(path, item) for path, item in _messages(body)]
    if not (messages or decisions):
        raise BadRequest("input: should have a message, the last one with the question.")
    if keys.background and keys.store is False:
        raise BadRequest("background: needs 'store': leave it out, or set it to true.")
    form = form_of("text.format", keys.text.format if keys.text else None)
    first: list[Json] = [{"role": "system", "content": keys.instructions}] if keys.instructions else []
    request = openai.request_of(dict(body) | {"messages": [*first, *messages]}, keys, form, decisions)
    repeated = {key: body[key] for key in _REPEATED if body.get(key) is not None} | _in_full(keys)
    for_encoder = replace(openai.OpenaiDetails.of(request), previous=keys.previous_response_id, repeated=repeated)
    return replace(
        openai.with_tools(request, keys, keys.tools or (), cast("Json", keys.tool_choice)),
        max_tokens=keys.max_output_tokens,
        for_encoder=for_encoder,
        reasoning_effort=keys.reasoning.effort if keys.reasoning else None,
        wants_kept=keys.store is not False and not request.is_task,
        may_be_kept=keys.store is not False,
        is_later=bool(keys.background),
    )


def _in_full(keys: OpenaiResponsesKeys) -> dict[str, Json]:
    """Return the tools and the form of the text as a response repeats them: with the keys that a request may omit."""
    found: dict[str, Json] = {"tools": [tool.model_dump(mode="json") for tool in keys.tools or ()]}
    if keys.reasoning:
        found["reasoning"] = {"effort": keys.reasoning.effort, "summary": keys.reasoning.summary}
    if keys.text and keys.text.format:
        found["text"] = {"format": keys.text.format.model_dump(mode="json", by_alias=True, exclude_none=True)}
    return found


def decisions_in(body: Mapping[str, Json]) -> tuple[Decision, ...]:
    """Return the answers to questions for consent that come after the last message of the user.

    Clients send those before it again with each request.

    Raises:
        BadRequest: one of them cannot be read.
    """
    found: list[Decision] = []
    items = body.get("input")
    for item in reversed(items[:LONGEST_CONVERSATION] if isinstance(items, list) else ()):
        match item:
            case {"type": "mcp_approval_response", "approval_request_id": str(asked_by), "approve": bool(approved)}:
                found.append(Decision(approved, asked_by.removeprefix(APPROVAL), reason=reason_in(item)))
            case {"type": "mcp_approval_response"}:
                raise BadRequest(
                    "input: an 'mcp_approval_response' should have an 'approval_request_id' and 'approve'."
                )
            case {"role": "user"}:
                break
            case _:
                pass
    return tuple(reversed(found))


def sent_files(body: Mapping[str, Json]) -> Iterator[tuple[int, SentFile]]:
    """Yield the files in the messages of a body that `parse` has accepted, as `Protocol.sent_files` does."""
    if decisions_in(body):
        return
    before = 1 if body.get("instructions") else 0
    for place, (path, item) in enumerate(_messages(body), before):
        yield from ((place, file) for file in files_in(f"{path}.content", item.get("content"), _part))


def _refuse(body: Mapping[str, Json]) -> None:
    """Refuse what would get another answer than the caller expects, in words that say what to do."""
    for key, problem in _REFUSED.items():
        if body.get(key):
            raise BadRequest(f"{key}: {problem}")
    refuse_other_kinds(body.get("tools"))
    match body:
        case {"input": _}:
            pass
        case {"messages": _}:
            raise BadRequest(
                "messages: is a key of Chat Completions. Send this body to /v1/chat/completions, or the conversation "
                "in 'input'."
            )
        case _:
            raise BadRequest("input: is missing. Put the question there, or the messages of the conversation.")


def _messages(body: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The messages of a body, each with its place in the body, for error messages.

    Calls of tools are a part of the assistant's message before them, or a message of their own.
    """
    held: tuple[str, dict[str, Json]] | None = None
    for path, item in _items(body):
        if item.get("type") == "function_call":
            at, message = held or (path, {"role": "assistant", "content": ""})
            before = message.get("tool_calls")
            calls: list[Json] = [*(before if isinstance(before, list) else ()), _call(path, item)]
            held = at, {**message, "tool_calls": calls}
            continue
        if held:
            yield held
        held = (path, item) if item.get("role") == "assistant" else None
        if not held:
            yield path, item
    if held:
        yield held


def _items(body: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """The items of a body that are messages, or calls of tools and their results."""
    items = body["input"]
    if isinstance(items, str):
        items = list[Json]([{"role": "user", "content": items}])
    if not isinstance(items, list):
        raise BadRequest("input: should be a string or a list of items.")
    if len(items) > LONGEST_CONVERSATION:
        raise BadRequest(f"input: should have at most {LONGEST_CONVERSATION} items.")
    for number, item in enumerate(items):
        path = f"input[{number}]"
        match item:
            case {"type": "item_reference"}:
                raise BadRequest(
                    f"{path}: refers to an item, and nothing is kept here. Send the item itself, as clients do where "
                    "their option 'store' is false."
                )
            case {"type": "message" | "function_call" | "function_call_output"}:
                yield path, item
            # Skipped, it would have the question before it answered again.
            case {"type": str(kind)} if kind.endswith("_output"):
                raise BadRequest(f"{path}: answers a tool that this app has not called. Leave it out.")
            case {"type": str()}:
                pass
            case {"role": _}:
                yield path, item
            case _:
                raise BadRequest(f"{path}: should be an object with a 'role' and a 'content'.")


def _flat(path: str, message: dict[str, Json]) -> Json:
    """A message as the other protocols have it: the texts of its parts in one string."""
    if message.get("type") == "function_call_output":
        return _result(path, message)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadRequest(f"{path}.role: should be {_either(*_ROLES)}.")
    flat: dict[str, Json] = {"role": _ROLES[role], "content": _joined(f"{path}.content", content)}
    return flat | ({"tool_calls": calls} if (calls := message.get("tool_calls")) and role == "assistant" else {})


def _joined(path: str, content: Json) -> str:
    """The text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{path}: should be a string or a list of parts.")
    return text_in(path, content, _part)


def _call(path: str, item: Mapping[str, Json]) -> Json:
    """A call of a tool, as the other protocols have it."""
    match item:
        case {"call_id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        case _:
            raise BadRequest(f"{path}: should have strings as its call_id, name and arguments.")


def _result(path: str, item: Mapping[str, Json]) -> Json:
    """The result of a call, as the other protocols have it."""
    call_id = item.get("call_id")
    if not isinstance(call_id, str):
        raise BadRequest(f"{path}.call_id: should be a string.")
    return {"role": "tool", "tool_call_id": call_id, "content": _joined(f"{path}.output", item.get("output"))}


def _part(path: str, part: Json) -> str | SentFile:
    """The text of a part, or the image or other file that it is."""
    match part:
        case {"type": "input_text" | "output_text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "input_image", **keys}:
            return openai.image_in(f"{path}.image_url", keys.get("image_url"))
        case {"type": "input_file", **keys}:
            return openai.file_in(path, keys)
        case _:
            kinds = _either("input_text", "output_text", "input_image", "input_file")
            raise BadRequest(f"{path}: should be a text, an image or a file, of the type {kinds}.")


def _either(*names: str) -> str:
    *others, last = (f"'{name}'" for name in names)
    return f"{', '.join(others)} or {last}"
