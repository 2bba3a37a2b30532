"""What the requests of OpenAI's two protocols share: models, the turn, the form of the answer, and files in base64.

Source: OpenAI API reference, `response_format` and `text.format`; its guide 'Structured model outputs'.
"""

import re
from collections.abc import Mapping, Sequence
from copy import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from shared.chat_types import ChatRequest, Decision, Json, JsonForm, Role
from shared.errors import BadRequest, NotFound, TooLarge
from shared.tools.arguments import is_deeper
from shared.wire import chat_body, framing
from shared.wire.message_parts import SentFile
from shared.wire.request_body import BodyModel, EncoderDetails
from shared.wire.tools_body import DEEPEST, FunctionKeys, chosen, definitions

MODELS = {"switchboard": False, "switchboard-team": True}
"""The models that a request may name, and whether the team of agents is meant."""
AGENT = "switchboard-"
"""Begins the name of the model that is one agent of the team."""
_MODEL_NAMES = (
    f"`switchboard`, `switchboard-team` for the team of agents, or `{AGENT}` and an agent's name for that agent alone."
)
_TASKS = tuple(msgspec.json.decode(Path(__file__).with_name("openai_tasks.json").read_bytes(), type=list[str]))
"""How prompts begin that a front end sends for itself: for titles, tags, follow-up questions and the like.

Sources: Open WebUI 0.12.4, `config.py`, the default templates; LibreChat's agents at 28eab85b, `src/utils/title.ts`;
NextChat at 706a18b, `app/locales`, `Store.Prompt.Topic`.
"""
_MAKES = r"\b(?:generat|creat|writ|provid|suggest|giv|mak|summari[sz]|nam)\w*\b"
_THE_CHAT = (
    r"\b(?:(?:(?:our|this|the) )?user'?s? conversation|(?:our|this|the) (?:conversation|discussion)"
    r"|(?:our|this) (?:chat|thread))\b"
)
_TITLE_OF_CHAT = re.compile(
    rf"[^\n?]{{0,80}}?{_MAKES}(?:[^\n?]{{0,80}}\btitle\b[^.\n?]{{0,40}}{_THE_CHAT}"
    rf"|[^.\n?]{{0,20}}{_THE_CHAT}[^.\n?]{{0,40}}\b(?:title|name)\b)(?![^.:\n]*\?)",
    re.IGNORECASE,
)
"""How a message asks for a title of a chat, as NextChat and Chatbox do; a question about one is none."""
_MAKES_TITLES = re.compile(
    rf"{_MAKES}[^.\n]{{0,60}}\btitles?\b[^.\n]{{0,60}}\b(?:chat|conversation|session)s?\b"
    r"|\b(?:chat|conversation)s?\b[^.,\n]{0,20}\btitl(?:e|es|ing)\b",
    re.IGNORECASE,
)
"""What a system message says of itself that makes titles of chats, as those of LobeChat, Cherry Studio and others."""
_ABOUT_ITSELF = 300
"""Characters in which it says so."""
_TITLING = re.compile(r"\btitl(?:e|es|ing)\b", re.IGNORECASE)
_LONGEST_TITLE = 64
"""Tokens: who wants no more of an answer, by a system message that speaks of a title, wants a title (chat-ui)."""
_TOOLS, _TOOL_PROMPTS = "Available Tools: ", ("Query: ", "History:\n")
"""How Open WebUI's system message and prompt begin where it asks which of its own tools to call.

Source: Open WebUI 0.12.4, `utils/middleware.py`: the second is for a chat with earlier messages.
"""
_ITS_TOOLS = frozenset({"ask_user", "calculate_timestamp", "query_knowledge_bases", "view_chat"})
"""Some of the tools that Open WebUI brings with every question, one of each kind that can be switched off.

Source: Open WebUI 0.12.4, `utils/tools.py`, `get_builtin_tools`.
"""


class OpenaiDetails(EncoderDetails, frozen=True):
    """What the encoder needs to know of a request."""

    model: str = "switchboard"
    """The model that was asked for."""
    previous: str | None = None
    """Id of the response that this one goes on from."""
    include_usage: bool = False
    """Whether a stream ends with the tokens."""
    shows_thoughts: bool = False
    """Whether the request has our own `context`. Thoughts hold whole prompts, and other clients do not show them."""
    repeated: Mapping[str, Json] = msgspec.field(default_factory=dict[str, Json])
    """Keys of the request that its response repeats."""


class ModelKeys(BodyModel):
    """Keys of a request of both protocols."""

    model: str | None = Field(default=None, description=_MODEL_NAMES)
    stream: bool | None = Field(default=None, description="Whether to stream the answer.")
    temperature: float | None = Field(default=None, ge=0, le=2)
    parallel_tool_calls: bool | None = Field(default=None, description="Whether several tools may be called at once.")


type Effort = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    Field(description="How long a reasoning model may think. Default: `CHAT_REASONING_EFFORT`."),
]


def request_of(
    body: Mapping[str, Json], keys: ModelKeys, form: JsonForm | None, decisions: tuple[Decision, ...] = ()
) -> ChatRequest:
    """Turn a body with `messages` as the other protocols have them into a request, without its files.

    JSON has no place for follow-up questions, so that such a request asks for none. A system message that comes last,
    as NextChat asks for a summary of the chat, is a task for the model alone.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
        NotFound: there is no model of that name.
    """
    model = keys.model or next(iter(MODELS))
    agent = None if model in MODELS else _agent_of(model)
    said, asks_by_system = body.get("messages"), False
    if isinstance(said, list) and said and isinstance(last := said[-1], dict) and last.get("role") == "system":
        asked: list[Json] = [*said[:-1], last | {"role": "user"}]
        asks_by_system, body = True, {**body, "messages": asked}
    request = chat_body.parse_chat(body, state_key="session_state", takes_tools=True, decisions=decisions)
    overrides = request.overrides
    if overrides.temperature is None:
        overrides = replace(overrides, temperature=keys.temperature)
    if form:
        overrides = replace(overrides, suggest_followup_questions=False)
    is_task = bool(request.messages) and (asks_by_system or _is_task(request, body))
    return replace(
        request.in_conversation(None) if is_task else request,
        overrides=overrides,
        stream=bool(keys.stream),
        team=MODELS.get(model, False) and not is_task,
        agent=agent,
        is_task=is_task,
        steps=() if is_task else request.steps,
        form=form,
        for_encoder=OpenaiDetails(model, shows_thoughts="context" in body),
    )


def with_tools(request: ChatRequest, keys: ModelKeys, functions: Sequence[FunctionKeys], choice: Json) -> ChatRequest:
    """Give a request the caller's tools. A task of the front end has none.

    Args:
        request: The request.
        keys: The keys of both protocols.
        functions: The functions among the tools.
        choice: `tool_choice`.

    Raises:
        BadRequest: names what is wrong with them.
        TooLarge: they are too long.
    """
    tools, how = chosen(definitions(functions), choice, keys.parallel_tool_calls)
    is_offer = not how.must_call and not _ITS_TOOLS.isdisjoint(tool.name for tool in tools)
    return request if request.is_task else replace(request, tools=tools, tool_choice=replace(how, is_offer=is_offer))


def _is_task(request: ChatRequest, body: Mapping[str, Json]) -> bool:
    """Whether the front end asks for itself. Such a message is not for the documents, and no part of the chat."""
    first, question = request.messages[0], request.question
    asks_for_tools = (
        first.role is Role.SYSTEM and first.content.startswith(_TOOLS) and question.startswith(_TOOL_PROMPTS)
    )
    most = body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens")
    is_short = isinstance(most, int) and most <= _LONGEST_TITLE
    told = first.content if first.role is Role.SYSTEM else ""
    wants_title = bool(is_short and _TITLING.search(told)) or bool(_MAKES_TITLES.search(told[:_ABOUT_ITSELF]))
    return asks_for_tools or wants_title or question.startswith(_TASKS) or bool(_TITLE_OF_CHAT.match(question))


def models_of(agents: Sequence[str]) -> list[str]:
    """Return the names of all models, of which some are one agent each; without agents there is no team."""
    names = [name for name, is_team in MODELS.items() if agents or not is_team]
    return [*dict.fromkeys((*names, *(f"{AGENT}{agent}" for agent in agents)))]


def _agent_of(model: str) -> str:
    """Return the name of the agent that a model is; whether there is that agent is not known here."""
    if not model.startswith(AGENT):
        names = ", ".join(MODELS)
        raise NotFound(f"model: there is none of that name here. There are: {names}, and {AGENT} with an agent's name.")
    return model.removeprefix(AGENT)


def image_in(path: str, url: Json) -> SentFile:
    """Return the image that a URL holds itself; raise BadRequest if it holds none."""
    if not (isinstance(url, str) and url.startswith("data:image/")):
        raise BadRequest(
            f"{path}: should be a data: URL of an image; no files are kept here, and nothing is fetched from elsewhere."
        )
    return SentFile(path, url)


def file_in(path: str, keys: Mapping[str, Json]) -> SentFile:
    """Return the file that a part holds itself; raise BadRequest if it holds none.

    Args:
        path: The place of the keys in the body.
        keys: `file_data`, `filename`, and the keys of files that are elsewhere.
    """
    for key in ("file_id", "file_url"):
        if keys.get(key):
            raise BadRequest(
                f"{path}.{key}: should be left out: no files are kept here, and nothing is fetched from elsewhere. "
                "Send the file in base64 as 'file_data', with its 'filename'."
            )
    data, name = keys.get("file_data"), keys.get("filename") or ""
    if not isinstance(data, str):
        raise BadRequest(f"{path}.file_data: should be the file in base64, as a data: URL.")
    if not isinstance(name, str):
        raise BadRequest(f"{path}.filename: should be a string.")
    return SentFile(f"{path}.file_data", data, name)


_MOST_BYTES = 64 * 1024
"""JSON of a schema, in bytes: the model reads it with each answer."""

type _Type = Annotated[
    Literal["text", "json_object", "json_schema"],
    Field(description="A text, or JSON: any object, or what a schema says. The built-in model writes text only."),
]


class SchemaKeys(BodyModel):
    """A schema that the answer follows."""

    name: str | None = Field(default=None, pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="A name, for the model.")
    description: str | None = Field(default=None, max_length=4_000, description="What the answer is for.")
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema", description="A JSON schema.")
    strict: bool | None = Field(default=None, description="Whether the model's service holds it to the schema.")


class ResponseFormat(BodyModel):
    """The form of the answer in `openai`."""

    type: _Type
    json_schema: SchemaKeys | None = None


class TextFormat(SchemaKeys):
    """The form of the answer in `openai-responses`."""

    type: _Type


def form_of(key: str, asked: ResponseFormat | TextFormat | None) -> JsonForm | None:
    """Return the form that a request asks for; None: a text.

    Args:
        key: The key of the request.
        asked: Its value.

    Raises:
        BadRequest: the schema is missing or too deep.
        TooLarge: it is too long.
    """
    if asked is None or asked.type == "text":
        return None
    if asked.type == "json_object":
        return JsonForm(key)
    keys = asked if isinstance(asked, TextFormat) else asked.json_schema or SchemaKeys()
    path = key if isinstance(asked, TextFormat) else f"{key}.json_schema"
    schema: dict[str, Json] | None = keys.json_schema
    if keys.name is None:
        raise BadRequest(f"{path}.name: is missing.")
    if schema is None:
        raise BadRequest(f"{path}.schema: is missing.")
    if is_deeper(schema, DEEPEST):
        raise BadRequest(f"{path}.schema: should have at most {DEEPEST} levels.")
    if len(framing.encode_json(schema)) > _MOST_BYTES:
        raise TooLarge(f"{path}.schema: is over {_MOST_BYTES:,} bytes. Send a shorter one.")
    return JsonForm(key, keys.name, schema, keys.strict, keys.description)
