"""The request body of `ag-ui`: what `@ag-ui/client` and its kin send, with texts and files in the parts of messages.

Source: AG-UI 1.0, `RunAgentInput`; its versions 0.0.52 to 0.0.59, whose clients send no `protocolVersion` and files as
`binary` parts too. The page's `state` and `context` are ignored, and overrides are in `forwardedProps`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from copy import replace
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, FailFast, Field, SkipValidation

from shared.chat_types import ChatRequest, Decision, Json
from shared.errors import BadRequest
from shared.wire.chat_body import (
    LONGEST_CONVERSATION,
    MAX_CONVERSATION_ID,
    MAX_TOOL_CALLS,
    ContextBody,
    ToolCallBody,
    parse_chat,
)
from shared.wire.consent import MOST_DECISIONS, is_title, reason_in
from shared.wire.message_parts import MOST_PARTS, SentFile, files_in, text_in
from shared.wire.request_body import BodyModel, EncoderDetails
from shared.wire.tools_body import MOST_TOOLS, FunctionKeys, definitions

MOST_CONTEXT = 1_000
"""Entries of `context`."""
_RUN_ID = re.compile("[0-9a-f]{32}")
"""A UUID, as `@ag-ui/client` names each run, without its hyphens: no other run has it."""
_SKIPPED = ("activity", "reasoning")
"""Roles of messages that are for the page alone."""


class AgUiDetails(EncoderDetails, frozen=True):
    """What the encoder needs to know of a request."""

    thread_id: str | None = None
    """The conversation, by the client's name for it."""
    run_id: str | None = None
    """This answer, by the client's name for it."""
    knows_1_0: bool = True
    """Whether the client knows the events and keys of AG-UI 1.0. Earlier ones end a run at an unknown event."""
    shows_thoughts: bool = False
    """Whether the request has our own `overrides`. Thoughts hold whole prompts, and other clients do not show them."""
    shows_progress: bool = False
    """Whether the request asks for what agents do, and for what a refusal found."""
    calls: frozenset[str] = frozenset()
    """Ids of the calls that the client has."""


class AgUiMessage(BodyModel):
    """A message. Those of the roles `activity` and `reasoning` are skipped.

    Names may be Python's as well: Agent Framework's `AGUIChatClient` 1.7.0 sends `tool_calls` beside `toolCallId`.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    role: Literal["user", "assistant", "system", "developer", "tool", "activity", "reasoning"]
    content: SkipValidation[str | Annotated[list[dict[str, Any]], FailFast(), Field(max_length=MOST_PARTS)] | None] = (
        Field(default=None, description="A text, or parts as AG-UI describes them; files are in base64.")
    )
    tool_calls: Annotated[list[ToolCallBody], FailFast()] | None = Field(
        default=None, alias="toolCalls", max_length=MAX_TOOL_CALLS
    )
    tool_call_id: str | None = Field(default=None, alias="toolCallId")


class AgUiResume(BodyModel):
    """The answer to a question for consent. One that is neither `approved` nor `accepted` refuses."""

    interrupt_id: Annotated[str, Field(alias="interruptId", max_length=MAX_CONVERSATION_ID)]
    status: Literal["resolved", "cancelled"]
    payload: Annotated[Any, Field(description="With `approved` or `accepted`, and a `reason`.")] = None

    def decision(self) -> Decision:
        """Return what was decided; nothing else of it counts."""
        payload = cast("Json", self.payload)
        said = payload if isinstance(payload, dict) else {}
        agreed = said.get("approved", said.get("accepted")) is True
        return Decision(agreed and self.status == "resolved", self.interrupt_id, reason=reason_in(said))


class AgUiKeys(BodyModel):
    """The keys of a request."""

    messages: Annotated[list[AgUiMessage], FailFast()] = Field(min_length=1, max_length=LONGEST_CONVERSATION)
    thread_id: str | None = Field(
        default=None, alias="threadId", max_length=MAX_CONVERSATION_ID, description="The conversation; else a new one."
    )
    run_id: str | None = Field(
        default=None, alias="runId", max_length=MAX_CONVERSATION_ID, description="The answer's id; else a new one."
    )
    tools: Annotated[list[FunctionKeys], FailFast()] | None = Field(
        default=None, max_length=MOST_TOOLS, description="Functions of the page that the model may call."
    )
    protocol_version: str | None = Field(
        default=None,
        alias="protocolVersion",
        description="With it, agents of a team are subagents, and the run ends with its tokens.",
    )
    resume: Annotated[list[AgUiResume], FailFast()] | None = Field(
        default=None, max_length=MOST_DECISIONS, description="Answers to the interrupts of the run before."
    )
    forwarded_props: ContextBody | None = Field(
        default=None, alias="forwardedProps", description="Overrides, in `overrides` or here."
    )
    context: Annotated[list[Any], FailFast()] | None = Field(
        default=None, max_length=MOST_CONTEXT, description="What the page tells of itself; ignored."
    )


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    if isinstance(body.get("context"), dict):  # as other protocols have it
        raise BadRequest("context: should be a list. Overrides go into forwardedProps.")
    keys = AgUiKeys.read(body)
    decisions = () if _goes_another_way(keys) else tuple(answer.decision() for answer in keys.resume or ())
    chat: dict[str, Json] = {
        "messages": [
            _flat(place, message)
            for place, message in enumerate(_without_servers_calls(keys.messages))
            if message.role not in _SKIPPED
        ],
        "context": body.get("forwardedProps"),
    }
    if keys.thread_id:
        chat["threadId"] = keys.thread_id
    request = parse_chat(chat, state_key="threadId", takes_tools=True, decisions=decisions)
    details = AgUiDetails(
        thread_id=keys.thread_id,
        run_id=keys.run_id,
        knows_1_0=bool(keys.protocol_version),
        shows_thoughts=bool(keys.forwarded_props and keys.forwarded_props.overrides),
        shows_progress=request.overrides.show_progress,
        calls=frozenset(call.id for message in keys.messages for call in message.tool_calls or ()),
    )
    named = (keys.run_id or "").replace("-", "").lower()
    return replace(
        request,
        tools=definitions(keys.tools or ()),
        for_encoder=details,
        run_id=named if _RUN_ID.fullmatch(named) else None,
    )


def sent_files(body: Mapping[str, Json]) -> Iterator[tuple[int, SentFile]]:
    """Yield the files in the user's messages of a body that `parse` has accepted, as `Protocol.sent_files` does."""
    messages = cast("list[dict[str, Json]]", body["messages"])
    kept = [(place, message) for place, message in enumerate(messages) if message["role"] not in _SKIPPED]
    for index, (place, message) in enumerate(kept):
        if message["role"] == "user":
            yield from ((index, file) for file in files_in(f"messages[{place}].content", message.get("content"), _part))


def _goes_another_way(keys: AgUiKeys) -> bool:
    """Whether the user has a new question in place of answers: assistant-ui's `steerAway` cancels what is open."""
    *said, last = keys.messages
    cancels = all(answer.status == "cancelled" for answer in keys.resume or ())
    return cancels and last.role == "user" and any(one.tool_calls or one.tool_call_id for one in said[-1:])


def _without_servers_calls(messages: list[AgUiMessage]) -> list[AgUiMessage]:
    """Leave calls of servers' tools and their results out: they come back with each run, and could be forged.

    What is left out stays as a message that is skipped, so that places in the body stay what they are.
    """
    ours = {call.id for message in messages for call in message.tool_calls or () if is_title(call.function.name)}
    return [_without(message, ours) for message in messages] if ours else messages


def _without(message: AgUiMessage, ours: Collection[str]) -> AgUiMessage:
    made = message.tool_calls or ()
    calls = [call for call in made if call.id not in ours]
    if message.tool_call_id in ours or (len(calls) < len(made) and not (calls or message.content)):
        return message.model_copy(update={"role": _SKIPPED[0]})
    return message.model_copy(update={"tool_calls": calls or None}) if made else message


def _flat(place: int, message: AgUiMessage) -> Json:
    """A message as the other protocols have it: the texts of its parts in one string."""
    calls: list[Json] = [call.model_dump() for call in message.tool_calls or ()]
    flat: dict[str, Json] = {
        "role": "system" if message.role == "developer" else message.role,
        "content": _content(f"messages[{place}].content", message),
    }
    if calls:
        flat["tool_calls"] = calls
    if message.tool_call_id:
        flat["tool_call_id"] = message.tool_call_id
    return flat


def _content(path: str, message: AgUiMessage) -> str:
    """The text of a message. Files count in the user's messages only; an answer may be tool calls and no text."""
    match cast("Json", message.content):
        case str(text):
            return text
        case list(parts):
            return text_in(path, parts, _part)
        case None if message.role == "assistant":
            return ""
        case _:
            raise BadRequest(f"{path}: should be a string, or a list of parts.")


def _part(path: str, part: Json) -> str | SentFile:
    """The text of a part, or the file that it is."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "document", "source": {"type": "data", "value": str(data), "mimeType": str(kind)}}:
            metadata = part.get("metadata")
            return _file(f"{path}.source.value", data, metadata if isinstance(metadata, dict) else {}, kind)
        case {"type": "binary", "data": str(data), "mimeType": str(kind)}:
            return _file(f"{path}.data", data, part, kind)
        case {"type": "image" | "document"}:
            raise BadRequest(
                f"{path}.source: should be of the type 'data', with the file in base64 as its value, and its mimeType; "
                "nothing is fetched from elsewhere."
            )
        case {"type": "binary"}:
            raise BadRequest(
                f"{path}.data: should be the file in base64, beside its mimeType; nothing is fetched from elsewhere."
            )
        case _:
            raise BadRequest(f"{path}: should be a text, an image or a document, with one of these as its type.")


def _file(path: str, data: str, named: Mapping[str, Json], kind: str) -> SentFile:
    name = named.get("filename")
    return SentFile(path, data, name if isinstance(name, str) else "", kind)
