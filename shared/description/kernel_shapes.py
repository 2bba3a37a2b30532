"""The shapes of Semantic Kernel's messages."""

from shared.description.protocol_shape import FILTER_OFFSETS, FILTER_RESULTS, SHARED, STATE, Shape
from shared.description.schemas import (
    INTEGER,
    NULL,
    STRING,
    any_of,
    constant,
    described,
    list_of,
    nullable,
    record,
    ref,
)

_TEXT_CONTENT = record({"$type": constant("TextContent"), "Text": STRING})
_CONVERSATION = described(STRING, "The conversation that this belongs to.")
_CSHARP_USAGE = record({"InputTokenCount": INTEGER, "OutputTokenCount": INTEGER, "TotalTokenCount": INTEGER})
_CSHARP_METADATA = record(
    {},
    {
        "Id": STRING,
        "CreatedAt": STRING | {"format": "date-time"},
        "SystemFingerprint": nullable(STRING),
        "FinishReason": STRING,
        "Usage": _CSHARP_USAGE,
        "Context": ref("Context"),
        "authorName": described(STRING, "In a team's answer: which agent said it."),
        "error": ref("ErrorCode"),
        "TotalUsage": _CSHARP_USAGE,
        "PromptFilterResults": FILTER_RESULTS,
        "ContentFilterResults": FILTER_RESULTS,
        "ContentFilterOffsets": FILTER_OFFSETS,
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
_CSHARP_WHOLE = {
    **_CSHARP_MESSAGE,
    **_BOTH_METADATA,
    "Items": list_of(_TEXT_CONTENT),
    "ModelId": STRING,
    "ConversationId": _CONVERSATION,
}

SEMANTIC_KERNEL = Shape(
    name="SemanticKernel",
    answer=list_of(record(_CSHARP_WHOLE)),
    agent=record(_CSHARP_WHOLE | {"AuthorName": STRING, "authorName": STRING}),
    record=record(
        {**_CSHARP_MESSAGE, "ChoiceIndex": INTEGER},
        {**_BOTH_METADATA, "ModelId": STRING, "ConversationId": _CONVERSATION},
    ),
    own={"SemanticKernelMetadata": _CSHARP_METADATA},
    reads={"session_state": STATE, "ConversationId": nullable(_CONVERSATION)},
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
_OF_CONTEXT = ("data_points", "thoughts", "followup_questions", "agent", "error")
_PYTHON_METADATA = record(
    {},
    {
        "id": STRING,
        "created": INTEGER,
        "model": described(STRING, "In a stream; a whole answer has it in ai_model_id."),
        "system_fingerprint": nullable(STRING),
        "conversation_id": _CONVERSATION,
        "usage": _PYTHON_USAGE,
        "prompt_filter_results": FILTER_RESULTS,
        "content_filter_results": FILTER_RESULTS,
        "content_filter_offsets": FILTER_OFFSETS,
        "total_usage": _PYTHON_USAGE,
        **{key: SHARED["Context"]["properties"][key] for key in _OF_CONTEXT},
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

SEMANTIC_KERNEL_PYTHON = Shape(
    name="SemanticKernelPython",
    answer=list_of(record({"ai_model_id": STRING, **_PYTHON_MESSAGE})),
    agent=record({"ai_model_id": STRING, **_PYTHON_MESSAGE, "name": STRING}),
    record=record(
        {"choice_index": INTEGER, "ai_model_id": NULL, **_PYTHON_MESSAGE, "function_invoke_attempt": INTEGER}
    ),
    own={"SemanticKernelPythonMetadata": _PYTHON_METADATA},
    reads={"session_state": STATE, "conversation_id": nullable(_CONVERSATION)},
    message=record(
        {"role": STRING, "items": list_of(record({"content_type": STRING}, {"text": STRING}))},
        description="A message as Semantic Kernel for Python writes it.",
    ),
)
