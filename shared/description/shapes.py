"""What each protocol writes, and what it reads beyond the body that all share.

The encoders build these objects from events, not from models, so that a stream costs little; the tests hold what the
running app sends against what is written here.
"""

from dataclasses import dataclass, field

from shared.chat_types import Json
from shared.description.schemas import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    Schema,
    any_of,
    constant,
    described,
    list_of,
    nullable,
    record,
    ref,
)

QUESTION: dict[str, Json] = {
    "messages": [{"role": "user", "content": "What does the Standard plan pay for dental care?"}]
}
"""The example of a request."""

_FILTER_RESULTS = described(ANYTHING, "What the content filter of Azure OpenAI found.")
_STATE = described(ANYTHING, "The client's own memory, as it sent it.")

SHARED: dict[str, Schema] = {
    "Thought": record(
        {
            "title": described(STRING, "The step's name."),
            "description": described(ANYTHING, "What it took or gave."),
            "props": described(nullable({"type": "object"}), "Details of how."),
        },
        description="A step on the way to the answer.",
    ),
    "Usage": record(
        {"prompt_tokens": INTEGER, "completion_tokens": INTEGER, "total_tokens": INTEGER},
        description="Tokens that the model counted.",
    ),
    "Context": record(
        {},
        {
            "data_points": record(
                {"text": list_of(described(STRING, "A source, as 'sourcepage: text'."))},
                description="What the answer is made from.",
            ),
            "thoughts": list_of(ref("Thought")),
            "followup_questions": described(list_of(STRING), "What to ask next, if that was asked for."),
            "finish_reason": described(STRING, "Why the answer ended: stop, length or content_filter."),
            "model": described(STRING, "The model that answered."),
            "usage": ref("Usage"),
        },
        "Where the answer comes from. In a stream its keys come in several records; a later one replaces.",
    ),
    "ErrorText": record({"error": described(STRING, "What the caller can do, and the invocation id for the logs.")}),
}
"""Schemas that several protocols and routes use."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One protocol."""

    name: str
    """What its schemas' names begin with."""
    answer: Schema
    """A whole answer."""
    record: Schema
    """A record of a stream that is no error."""
    error: str = "ErrorText"
    """The name of its error's schema."""
    own: dict[str, Schema] = field(default_factory=dict[str, Schema])
    """Schemas that only it uses, by name."""
    reads: dict[str, Schema] = field(default_factory=dict[str, Schema])
    """What a request may have beyond the body that all share."""
    message: Schema | None = None
    """A second way to write a message in a request."""
    streams_on_demand: bool = False
    """Whether `stream` in the body asks for a stream."""
    example: dict[str, Json] = field(default_factory=lambda: QUESTION)
    """A request; on a bare route it is inferred to be this protocol's, if any body is."""

    def schemas(self) -> dict[str, Schema]:
        """All that it adds to the document but the request, by name."""
        line = any_of([self.record, ref(self.error)])
        return {**self.own, f"{self.name}Answer": self.answer, f"{self.name}Record": line}


_TEXT_DELTA = record({}, {"role": constant("assistant"), "content": described(STRING, "The next piece of the text.")})
_MESSAGE = record({"role": constant("assistant"), "content": described(STRING, "The text.")})

_AI_CHAT = Shape(
    name="AiChat",
    answer=record({"message": _MESSAGE, "context": ref("Context"), "session_state": _STATE}),
    record=record({"delta": _TEXT_DELTA}, {"context": ref("Context"), "session_state": _STATE}),
    reads={"session_state": _STATE},
)

_AI_CHAT_2024_05_29 = Shape(
    name="AiChat20240529",
    answer=record({"message": _MESSAGE, "context": ref("Context")}, {"sessionState": _STATE}),
    record=record({"delta": _TEXT_DELTA}, {"context": ref("Context"), "sessionState": _STATE}),
    error="ErrorObject",
    own={
        "ErrorObject": record(
            {"error": record({"code": ref("ErrorCode"), "message": described(STRING, "What the caller can do.")})}
        ),
    },
    reads={"sessionState": _STATE},
    example=QUESTION | {"sessionState": None},
)

_OPENAI_MESSAGE = {"function_call": NULL, "tool_calls": NULL}
_CHOICE = {"finish_reason": nullable(STRING), "index": INTEGER}
_COMPLETION = {
    "created": described(INTEGER, "When the model began, in Unix seconds."),
    "id": STRING,
    "model": STRING,
    "system_fingerprint": nullable(STRING),
}

_AI_CHAT_2024_01_28 = Shape(
    name="AiChat20240128",
    answer=record(
        {
            "choices": list_of(
                record(
                    {
                        "message": record(
                            {"role": constant("assistant"), "content": STRING, "context": ref("Context")}
                            | _OPENAI_MESSAGE
                        ),
                        **_CHOICE,
                        "context": ref("Context"),
                        "session_state": _STATE,
                    },
                    {"content_filter_results": _FILTER_RESULTS},
                )
            ),
            **_COMPLETION,
            "object": constant("chat.completion"),
            "usage": nullable(ref("Usage")),
        },
        {"prompt_filter_results": _FILTER_RESULTS},
    ),
    record=record(
        {
            "choices": list_of(
                record(
                    {
                        "delta": record(
                            {},
                            {
                                "role": constant("assistant"),
                                "content": described(nullable(STRING), "The next piece of the text."),
                                "context": ref("Context"),
                                **_OPENAI_MESSAGE,
                            },
                        ),
                        **_CHOICE,
                    },
                    {"context": ref("Context"), "session_state": _STATE, "content_filter_results": _FILTER_RESULTS},
                )
            ),
            "object": constant("chat.completion.chunk"),
        },
        {**_COMPLETION, "prompt_filter_results": _FILTER_RESULTS, "usage": ref("Usage")},
    ),
    error="ErrorWithStatus",
    own={"ErrorWithStatus": record({"error": STRING, "message": STRING, "statusCode": INTEGER})},
    reads={"session_state": _STATE, "stream": described(nullable(BOOLEAN), "Whether to stream the answer.")},
    streams_on_demand=True,
    example=QUESTION | {"stream": False},
)

_TEXT_CONTENT = record({"$type": constant("TextContent"), "Text": STRING})
_CONVERSATION = described(STRING, "The conversation that this belongs to.")
_CSHARP_METADATA = record(
    {},
    {
        "Id": STRING,
        "CreatedAt": STRING | {"format": "date-time"},
        "SystemFingerprint": nullable(STRING),
        "FinishReason": STRING,
        "Usage": record({"InputTokenCount": INTEGER, "OutputTokenCount": INTEGER, "TotalTokenCount": INTEGER}),
        "Context": ref("Context"),
        "PromptFilterResults": _FILTER_RESULTS,
        "ContentFilterResults": _FILTER_RESULTS,
    },
)
_CSHARP_MESSAGE = {
    "Role": record({"Label": constant("Assistant")}),
    "Content": STRING,
    "authorRole": constant("ASSISTANT"),
    "content": STRING,
    "toolCall": NULL,
}
_BOTH_METADATA = {"Metadata": ref("SemanticKernelMetadata"), "metadata": ref("SemanticKernelMetadata")}

_SEMANTIC_KERNEL = Shape(
    name="SemanticKernel",
    answer=list_of(
        record(
            {
                **_CSHARP_MESSAGE,
                **_BOTH_METADATA,
                "Items": list_of(_TEXT_CONTENT),
                "ModelId": STRING,
                "ConversationId": _CONVERSATION,
            }
        )
    ),
    record=record(
        {**_CSHARP_MESSAGE, "ChoiceIndex": INTEGER},
        {**_BOTH_METADATA, "ModelId": STRING, "ConversationId": _CONVERSATION},
    ),
    own={"SemanticKernelMetadata": _CSHARP_METADATA},
    reads={"session_state": _STATE, "ConversationId": nullable(_CONVERSATION)},
    message=record(
        {"Role": any_of([STRING, record({"Label": STRING})])},
        {"Content": STRING, "Items": list_of(record({}, {"Text": STRING}))},
        "A message as Semantic Kernel for .NET writes it.",
    ),
)

_PYTHON_ITEM = record(
    {"ai_model_id": NULL, "metadata": {"type": "object"}, "content_type": constant("text"), "text": STRING}
    | {"encoding": NULL}
)
_PYTHON_USAGE = record(
    {"prompt_tokens": INTEGER, "prompt_tokens_details": NULL}
    | {"completion_tokens": INTEGER, "completion_tokens_details": NULL}
)
_PYTHON_METADATA = record(
    {},
    {
        "id": STRING,
        "created": INTEGER,
        "model": described(STRING, "In a stream; a whole answer has it in ai_model_id."),
        "system_fingerprint": nullable(STRING),
        "conversation_id": _CONVERSATION,
        "usage": _PYTHON_USAGE,
        "prompt_filter_results": _FILTER_RESULTS,
        "content_filter_results": _FILTER_RESULTS,
        **{key: SHARED["Context"]["properties"][key] for key in ("data_points", "thoughts", "followup_questions")},
    },
    "What the model's service said of the answer, and where the answer comes from.",
)
_PYTHON_MESSAGE = {
    "metadata": ref("SemanticKernelPythonMetadata"),
    "content_type": constant("message"),
    "role": constant("assistant"),
    "name": NULL,
    "items": list_of(_PYTHON_ITEM),
    "encoding": NULL,
    "finish_reason": nullable(STRING),
    "status": NULL,
}

_SEMANTIC_KERNEL_PYTHON = Shape(
    name="SemanticKernelPython",
    answer=list_of(record({"ai_model_id": STRING, **_PYTHON_MESSAGE})),
    record=record(
        {"choice_index": INTEGER, "ai_model_id": NULL, **_PYTHON_MESSAGE, "function_invoke_attempt": INTEGER}
    ),
    own={"SemanticKernelPythonMetadata": _PYTHON_METADATA},
    reads={"session_state": _STATE, "conversation_id": nullable(_CONVERSATION)},
    message=record(
        {"role": STRING, "items": list_of(record({"content_type": STRING}, {"text": STRING}))},
        description="A message as Semantic Kernel for Python writes it.",
    ),
)

SHAPES = {
    "ai-chat": _AI_CHAT,
    "ai-chat-2024-05-29": _AI_CHAT_2024_05_29,
    "ai-chat-2024-01-28": _AI_CHAT_2024_01_28,
    "semantic-kernel": _SEMANTIC_KERNEL,
    "semantic-kernel-python": _SEMANTIC_KERNEL_PYTHON,
}
"""By the protocol's name."""
