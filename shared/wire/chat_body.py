"""The request body that the protocols share, as pydantic models, and its conversion to a `ChatRequest`.

Source: rag-chat-http-protocol, 'HTTP requests'; ai-chat-protocol, 'HTTP requests'; the overrides in use by
azure-search-openai-demo. Unknown keys are ignored; null and the empty string count as left out.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, FailFast, Field, model_validator

from shared.chat_types import (
    SENT_BY,
    ChatRequest,
    ChatState,
    Decision,
    Json,
    Message,
    Overrides,
    RetrievalMode,
    Role,
    ToolCall,
    bounded_beside,
)
from shared.core.fold import without_notice
from shared.errors import BadRequest
from shared.history import is_session_id
from shared.wire.request_body import BodyModel
from shared.wire.tools_body import steps_of, untagged

MAX_TOOL_CALLS = 128
"""Tool calls in one message. Source: OpenAI API reference, `tools`: a model may be offered 128."""
MAX_VECTOR_FIELDS = 100
"""Names in `vector_fields`."""
LONGEST_CONVERSATION = 1_000
"""Maximum number of messages in a request."""
MAX_CONVERSATION_ID = 200
"""Characters of a conversation's id. Some protocols repeat it in each record of a stream."""
CONVERSATION_KEYS = ("conversationId", "conversation_id", "id")
"""Keys of a session state that may have the conversation's id; the first that is a string is used."""


def _to_list(value: object) -> object:
    """Put a string into a list: newer front ends send one vector field as a string, the document specifies a list."""
    return [value] if isinstance(value, str) else value


def _texts_to_text(value: object) -> object:
    """Replace `texts`, which front ends of azure-search-openai-demo send, by the document's `text`."""
    return "text" if value == "texts" else value


class FunctionBody(BodyModel):
    """The function of a tool call that a client sends back."""

    name: str
    arguments: str


class ToolCallBody(BodyModel):
    """A tool call that a client sends back."""

    id: str
    function: FunctionBody
    extra_content: Any = Field(default=None, description="What came with the call, as Gemini sends it.")
    thought_signature: Any = Field(default=None, description="The same, as other services do.")
    beside: dict[str, Any] | None = Field(default=None, description="All that came with it, as `ai-sdk` has it.")


class MessageBody(BodyModel):
    """One message."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | None = Field(description="The text; null only in the assistant's messages.")
    tool_calls: Annotated[list[ToolCallBody], FailFast()] | None = Field(default=None, max_length=MAX_TOOL_CALLS)
    tool_call_id: str | None = None
    reasoning_content: Any = Field(default=None, description="What the model thought before its calls, as it came.")


class OverridesBody(BodyModel):
    """Options of one request, in `context.overrides` or `context`."""

    # `Overrides` of `shared/chat_types.py` says what each does, and tools/description/overrides.json for the documents.
    temperature: float | None = Field(default=None, ge=0, le=2)
    seed: int | None = Field(default=None, ge=-(2**63), le=2**63 - 1)
    top: int | None = Field(default=None, ge=1, le=50)
    retrieval_mode: Literal["text", "vectors", "hybrid"] | None = None
    include_category: str | None = None
    exclude_category: str | None = None
    minimum_search_score: float | None = Field(default=None, allow_inf_nan=False)
    minimum_reranker_score: float | None = Field(default=None, allow_inf_nan=False)
    semantic_ranker: bool | None = None
    semantic_captions: bool | None = None
    vector_fields: (
        Annotated[
            list[str],
            FailFast(),
            Field(max_length=MAX_VECTOR_FIELDS),
            BeforeValidator(_to_list, json_schema_input_type=list[str] | str),
        ]
        | None
    ) = None
    search_text_embeddings: bool | None = None
    search_image_embeddings: bool | None = None
    use_gpt4v: bool | None = None
    gpt4v_input: (
        Annotated[
            Literal["text", "textAndImages", "images"],
            BeforeValidator(_texts_to_text, json_schema_input_type=Literal["text", "texts", "textAndImages", "images"]),
        ]
        | None
    ) = None
    send_text_sources: bool | None = None
    send_image_sources: bool | None = None
    suggest_followup_questions: bool | None = None
    use_oid_security_filter: bool | None = None
    use_groups_security_filter: bool | None = None
    prompt_template: str | None = Field(default=None, max_length=20_000)
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,4}$")
    resumable: bool | None = None
    show_progress: bool | None = None
    team_pattern: Literal["concurrent", "sequential", "group_chat", "handoff"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, value: object) -> object:
        """Drop empty strings: front ends send them for fields that are not filled in."""
        if not isinstance(value, dict):
            return value
        return {key: item for key, item in cast("dict[str, object]", value).items() if item != ""}


class ContextBody(OverridesBody):
    """The request's context: overrides in `overrides`, or directly here with lower priority."""

    overrides: OverridesBody | None = None


class ChatBody(BodyModel):
    """The keys of every JSON request."""

    messages: Annotated[list[MessageBody], FailFast()] = Field(min_length=1, max_length=LONGEST_CONVERSATION)
    context: ContextBody | None = None


_NOT_COUNTED: Json = {"role": "user", "content": ""}
"""Stands for the messages that come with an answer to a question for consent."""


def parse_chat(
    body: Mapping[str, Json],
    state_key: str,
    *,
    gives_session: bool = False,
    takes_tools: bool = False,
    decisions: tuple[Decision, ...] = (),
) -> ChatRequest:
    """Validate a body and turn it into a request.

    Args:
        body: The JSON object.
        state_key: The protocol's name for the session state.
        gives_session: Whether a new session id is the state where the client sends none, or null.
        takes_tools: Whether the protocol has tools of the caller, whose results may come after the question.
        decisions: Answers to questions for consent, if the body has some. Its messages then count for nothing: what
            goes on was kept here, and what comes back with an answer could be forged.

    Raises:
        BadRequest: names each key that is wrong and what it accepts.
    """
    chat = ChatBody.read({**body, "messages": [_NOT_COUNTED]} if decisions else body)
    _refuse_files(body)
    if not takes_tools and body.get("tools"):
        raise BadRequest("tools: this protocol has none. Leave them out, or ask in one that has, such as openai.")
    messages, steps = ((), ()) if decisions else _conversation(chat.messages, takes_tools=takes_tools)
    state = body.get(state_key)
    return ChatRequest(
        messages=messages,
        steps=steps,
        decisions=decisions,
        overrides=_overrides(chat.context or ContextBody()),
        chat=ChatState(
            session_state=state,
            wants_session=gives_session and state is None,
            has_session_state=state_key in body,
            conversation_id=_conversation_id(state),
        ),
    )


def _conversation(said: Sequence[MessageBody], *, takes_tools: bool) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the conversation up to the question, and what came after it: an answer that is to go on, or results.

    An answer without a word at the end is as absent: front ends leave one where an answer failed.
    """
    messages = [_message(index, message) for index, message in enumerate(said)]
    if len(messages) > 1 and messages[-1] == Message(Role.ASSISTANT, ""):
        del messages[-1]
    steps: list[Message] = []
    if messages[-1].role is Role.ASSISTANT or (takes_tools and messages[-1].role is Role.TOOL):
        begin = steps_of(messages)
        messages, steps = messages[:begin], messages[begin:]
    if messages[-1].role is not Role.USER:
        raise BadRequest(f"The last message must be the user's, and its role is '{messages[-1].role}'.")
    if not messages[-1].content.strip():
        raise BadRequest("The last message is empty: put the question into its content.")
    return tuple(messages), tuple(steps)


def _refuse_files(body: Mapping[str, Json]) -> None:
    """Refuse a file in the JSON of a message: nothing would read it.

    Source: `@microsoft/ai-chat-protocol` 1.0.0-beta.20240610.1, whose `data` becomes an object with a number a byte.
    """
    messages = body.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        files = message.get("files") if isinstance(message, dict) else None
        if isinstance(files, list) and any(isinstance(file, dict) and file.get("data") for file in files):
            raise BadRequest(
                f"messages[{index}].files: a file cannot come in JSON. Send a form (multipart/form-data) to the routes "
                "of ai-chat-2024-05-29, as @microsoft/ai-chat-protocol does from version 1.0.0-beta.20240814.1."
            )


def _conversation_id(state: Json) -> str | None:
    """Return the conversation id in a session state: the state itself if it is a string, else one of its keys.

    A longer string is no id, and a session id of ours is none: the client keeps that chat itself.
    """
    if isinstance(state, dict):
        state = next((name for key in CONVERSATION_KEYS if isinstance(name := state.get(key), str)), None)
    if not isinstance(state, str) or len(state) > MAX_CONVERSATION_ID or is_session_id(state):
        return None
    return state


def _message(index: int, message: MessageBody) -> Message:
    if message.content is None and not message.tool_calls and message.role != "assistant":
        raise BadRequest(f"messages[{index}].content should be a string.")
    made = message.tool_calls or ()
    calls = [_call(call, None if place else message.reasoning_content) for place, call in enumerate(made)]
    text = message.content or ""
    said = without_notice(text) if message.role == "assistant" else text
    result_of = untagged(message.tool_call_id)[0] if message.tool_call_id else message.tool_call_id
    return Message(Role(message.role), said, tuple(calls), result_of)


def _call(call: ToolCallBody, thought: Json) -> ToolCall:
    """A call, with what came beside it for the service that its id names."""
    call_id, sent_by = untagged(call.id)
    given: dict[str, Json] = {"extra_content": call.extra_content, "thought_signature": call.thought_signature}
    given |= {"reasoning_content": thought, SENT_BY: sent_by} | (call.beside or {})
    return ToolCall(call_id, call.function.name, call.function.arguments, bounded_beside(given))


def _overrides(context: ContextBody) -> Overrides:
    values: dict[str, Any] = context.model_dump(exclude={"overrides"}, exclude_none=True)
    if context.overrides:
        values |= context.overrides.model_dump(exclude_none=True)
    if "retrieval_mode" in values:
        values["retrieval_mode"] = RetrievalMode(values["retrieval_mode"])
    if "vector_fields" in values:
        values["vector_fields"] = tuple(values["vector_fields"])
    return Overrides(**values)
