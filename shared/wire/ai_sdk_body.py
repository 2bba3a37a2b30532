"""The request body of `ai-sdk`: what `DefaultChatTransport` sends, with texts and files in the parts of messages.

Source: `ai`, `ui/http-chat-transport.ts` and `ui/ui-messages.ts`; for `tools` assistant-ui, `AssistantChatTransport`.
All of a chat comes back with each question: what an answer has beside its text and the calls of the tools of the page,
such as sources, is skipped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import replace
from dataclasses import dataclass, field
from typing import Literal, cast

from shared.chat_types import ChatRequest, Decision, Json
from shared.errors import BadRequest
from shared.wire import chat_body, consent, framing
from shared.wire.message_parts import MOST_PARTS, SentFile, files_in, text_in
from shared.wire.request_body import BodyModel, EncoderDetails
from shared.wire.tools_body import MOST_TOOLS, FunctionKeys, chosen, definitions

_RESPONDED = "approval-responded"
"""State of a call whose question for consent the user has answered."""
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class AiSdkDetails(EncoderDetails, frozen=True):
    """What the encoder needs to know of a request."""

    shows_thoughts: bool = False
    """Whether the request has our own `context`. Thoughts hold whole prompts, and other clients do not show them."""
    goes_on: str | None = None
    """Id of the message that the answer goes on with, after results of the page's tools or answers to questions for
    consent; None: it is a new one."""
    sources: frozenset[str] = frozenset()
    """Ids of the sources that this message has."""
    calls: frozenset[str] = frozenset()
    """Ids of its calls."""
    takes_approvals: bool = False
    """Whether the page knows the parts that ask for consent. Versions before 6 end an answer at one."""


class AiSdkOptions(BodyModel):
    """What a page adds to each request, with the option `body` of `useChat`."""

    resumable: bool | None = None
    approvals: Literal["parts"] | None = None


def parse(body: Mapping[str, Json]) -> ChatRequest:
    """Validate a body and turn it into a request, without its files. `id` is the chat's, for the history.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    said, parts = body, _last_parts(body)
    decisions = _decisions(parts)
    if isinstance(messages := body.get("messages"), list):
        last = len(messages) - 1 if not decisions else None
        kept = enumerate(messages[: chat_body.LONGEST_CONVERSATION + 1])
        flat = [one for place, message in kept for one in _flat(place, message, is_last=place == last)]
        body = dict(body) | {"messages": flat}
    request = chat_body.parse_chat(body, state_key="id", takes_tools=True, decisions=decisions)
    options = AiSdkOptions.read(body)
    if resumable := options.resumable:
        request = replace(request, overrides=replace(request.overrides, resumable=resumable))
    tools, how = chosen(definitions(_functions(body.get("tools"))), body.get("toolChoice"), None)
    details = AiSdkDetails(
        shows_thoughts="context" in body,
        goes_on=_last_id(said) if request.steps or decisions else None,
        sources=frozenset(str(part["sourceId"]) for part in parts if "sourceId" in part),
        calls=frozenset(str(part["toolCallId"]) for part in parts if "toolCallId" in part),
        takes_approvals=options.approvals == "parts" or any(part.get("state") == _RESPONDED for part in parts),
    )
    chat = replace(request.chat, regenerates=_regenerates(body))
    return replace(request, chat=chat, tools=tools, tool_choice=how, for_encoder=details)


def sent_files(body: Mapping[str, Json]) -> Iterator[tuple[int, SentFile]]:
    """Yield the files in the user's messages of a body that `parse` has accepted, as `Protocol.sent_files` does.

    An answer may have become several messages, which counts for their indexes.
    """
    at = 0
    for place, message in enumerate(cast("list[Json]", body["messages"])):
        if isinstance(message, dict) and message.get("role") == "user":
            yield from ((at, file) for file in files_in(f"messages[{place}].parts", message.get("parts"), _file))
        at += len(_flat(place, message))


def _file(path: str, part: Json) -> str | SentFile:
    """The file that a part is, or its text."""
    if not (isinstance(part, dict) and part.get("type") == "file"):
        return _text(path, part)
    url, name, kind = part.get("url"), part.get("filename") or "", part.get("mediaType") or ""
    if not (isinstance(url, str) and isinstance(name, str) and isinstance(kind, str)):
        raise BadRequest(f"{path}: should have strings as its url, filename and mediaType.")
    if not url.startswith("data:"):
        raise BadRequest(f"{path}.url: should be a data: URL; nothing is fetched from elsewhere.")
    return SentFile(f"{path}.url", url, name, kind.partition(";")[0])


def _functions(tools: Json) -> list[FunctionKeys]:
    """The page's tools, which come as an object with their names as keys."""
    if not tools:
        return []
    if not isinstance(tools, dict) or len(tools) > MOST_TOOLS:
        raise BadRequest(f"tools: should be an object with the names of at most {MOST_TOOLS} tools.")
    found: list[FunctionKeys] = []
    for name, tool in tools.items():
        keys = tool if isinstance(tool, dict) else {}
        schema = keys.get("parameters") or keys.get("inputSchema")
        found.append(FunctionKeys.read({"name": name, "description": keys.get("description"), "parameters": schema}))
    return found


def _last_parts(body: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The parts of the last message, if it is an answer."""
    match body:
        case {"messages": [*_, {"role": "assistant", "parts": list(parts)}]}:
            return [part for part in parts[:MOST_PARTS] if isinstance(part, dict)]
        case _:
            return []


def _decisions(parts: Sequence[Mapping[str, Json]]) -> tuple[Decision, ...]:
    """What the user has decided in the last answer. Of a call nothing counts but the id of its question.

    Version 5 has no parts for it: a page answers the call itself, whose question is in data beside it.
    """
    questions: dict[Json, str] = {}
    for part in parts:
        match part:
            case {
                "type": "data-approval",
                "data": {"approvalId": str(approval), "toolCallId": str(call), "state": "open"},
            }:
                questions[call] = approval
            case _:
                pass
    found: list[Decision] = []
    for part in parts:
        match part:
            case {"state": "approval-responded", "approval": {"id": str(approval), **answer}}:
                found.append(Decision(answer.get("approved") is True, approval, reason=consent.reason_in(answer)))
            case {"state": "output-available", "toolCallId": str(call), "output": "approved" | "declined" as output}:
                if approval := questions.get(call):
                    found.append(Decision(output == "approved", approval))
            case _:
                pass
    return tuple(found)


def _regenerates(body: Mapping[str, Json]) -> bool | None:
    """Whether a question is asked again; None: not told, as when a page sends once more what it has."""
    if (trigger := body.get("trigger")) == "submit-message" and "messageId" not in body:
        return False
    return True if trigger == "regenerate-message" else None


def _last_id(body: Mapping[str, Json]) -> str | None:
    match body:
        case {"messages": [*_, {"id": str(found)}]}:
            return found
        case _:
            return None


def _flat(place: int, message: Json, *, is_last: bool = False) -> list[Json]:
    """A message as the other protocols have it: the texts of its parts in one string.

    An answer that called tools becomes several: a message with calls and their results for each of its steps. Raises
    BadRequest if it cannot be read, or is the last one and has a call that the page has not answered.
    """
    if not isinstance(message, dict) or ("parts" not in message and "content" in message):
        return [message]
    path = f"messages[{place}].parts"
    parts = message.get("parts")
    if not isinstance(parts, list):
        raise BadRequest(f'{path}: should be a list, such as [{{"type": "text", "text": "…"}}].')
    text = text_in(path, parts, _text)
    if message.get("role") == "assistant":
        return [one for step in _steps(path, parts, is_last=is_last) for one in step.messages()]
    return [{"role": message.get("role"), "content": text}]


@dataclass(frozen=True, slots=True)
class _Step:
    """What one call of the model said: a text, and calls of the page's tools that are answered."""

    texts: list[str] = field(default_factory=list[str])
    calls: list[Json] = field(default_factory=list[Json])
    results: list[Json] = field(default_factory=list[Json])

    def messages(self) -> list[Json]:
        said: dict[str, Json] = {"role": "assistant", "content": "\n\n".join(self.texts)}
        if self.calls:
            said["tool_calls"] = self.calls
        return [said, *self.results]


def _steps(path: str, parts: list[Json], *, is_last: bool) -> list[_Step]:
    """The steps of an answer; a text after calls is one of its own, however the client cuts them."""
    steps = [_Step()]
    for number, part in enumerate(parts):
        at = f"{path}[{number}]"
        if text := _text(at, part):
            if steps[-1].calls:
                steps.append(_Step())
            steps[-1].texts.append(text)
        if not isinstance(part, dict) or part.get("providerExecuted"):
            continue
        if part["type"] == "step-start" and steps[-1].calls:
            steps.append(_Step())
        elif result := _result(part):
            call_id, name = str(part["toolCallId"]), _tool_name(part)
            arguments = framing.encode_json(part.get("input") or {}).decode()
            metadata = part.get("callProviderMetadata")
            beside = metadata.get("switchboard") if isinstance(metadata, dict) else None
            made: Json = {"id": call_id, "function": {"name": name, "arguments": arguments}, "beside": beside}
            steps[-1].calls.append(made)
            steps[-1].results.append({"role": "tool", "tool_call_id": call_id, "content": result})
        elif is_last and part.get("state") in ("input-streaming", "input-available") and _tool_name(part):
            raise BadRequest(f"{at}: this call of a tool has no result. Send the chat once the page has answered it.")
    return [step for step in steps if step.texts or step.calls] or steps[:1]


def _tool_name(part: Mapping[str, Json]) -> str:
    """The name of the tool that a part calls; empty if it calls none, or one with a name that no tool can have."""
    kind = str(part.get("type"))
    name = str(part.get("toolName")) if kind == "dynamic-tool" else kind.removeprefix("tool-")
    return name if kind != name and _TOOL_NAME.fullmatch(name) else ""


def _result(part: Mapping[str, Json]) -> str | None:
    """The result of the call that a part is; None if it is none, or has none."""
    if not (_tool_name(part) and isinstance(part.get("toolCallId"), str)):
        return None
    match part:
        case {"state": "output-available", "output": str(text)}:
            return text or "(no output)"
        case {"state": "output-available"}:
            return framing.encode_json(part.get("output")).decode()
        case {"state": "output-error"}:
            return f"Error: {part.get('errorText') or 'the call failed.'}"
        case _:
            return None


def _text(path: str, part: Json) -> str:
    """The text of a part; empty if it is a part of another type."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "text"}:
            raise BadRequest(f"{path}.text: should be a string.")
        case {"type": str()}:
            return ""
        case _:
            raise BadRequest(f"{path}: should be an object with a type, such as 'text'.")
