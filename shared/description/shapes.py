"""What each protocol writes, and what it reads beyond the body that all share.

The encoders build these objects from events, not from models, so that a stream costs little; the tests hold what the
running app sends against what is written here.
"""

from shared.description.kernel_shapes import SEMANTIC_KERNEL, SEMANTIC_KERNEL_PYTHON
from shared.description.protocol_shape import FILTER_OFFSETS, FILTER_RESULTS, QUESTION, STATE, Shape
from shared.description.schemas import (
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    constant,
    described,
    list_of,
    nullable,
    record,
    ref,
)

_TEXT_DELTA = record({}, {"role": constant("assistant"), "content": described(STRING, "The next piece of the text.")})
_MESSAGE = record({"role": constant("assistant"), "content": described(STRING, "The text.")})

_AI_CHAT = Shape(
    name="AiChat",
    answer=record({"message": _MESSAGE, "context": ref("Context"), "session_state": STATE}),
    record=record({"delta": _TEXT_DELTA}, {"context": ref("Context"), "session_state": STATE}),
    reads={"session_state": STATE},
)

_AI_CHAT_2024_05_29 = Shape(
    name="AiChat20240529",
    answer=record({"message": _MESSAGE, "context": ref("Context")}, {"sessionState": STATE}),
    record=record({"delta": _TEXT_DELTA}, {"context": ref("Context"), "sessionState": STATE}),
    error="ErrorObject",
    own={
        "ErrorObject": record(
            {"error": record({"code": ref("ErrorCode"), "message": described(STRING, "What the caller can do.")})}
        ),
    },
    reads={"sessionState": STATE},
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
                        "session_state": STATE,
                    },
                    {"content_filter_results": FILTER_RESULTS},
                )
            ),
            **_COMPLETION,
            "object": constant("chat.completion"),
            "usage": nullable(ref("Usage")),
        },
        {"prompt_filter_results": FILTER_RESULTS, "total_usage": ref("Usage")},
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
                    {
                        "context": ref("Context"),
                        "session_state": STATE,
                        "content_filter_results": FILTER_RESULTS,
                        "content_filter_offsets": FILTER_OFFSETS,
                    },
                )
            ),
            "object": constant("chat.completion.chunk"),
        },
        {**_COMPLETION, "prompt_filter_results": FILTER_RESULTS, "usage": ref("Usage")},
    ),
    error="ErrorWithStatus",
    own={"ErrorWithStatus": record({"error": STRING, "message": STRING, "statusCode": INTEGER})},
    reads={"session_state": STATE, "stream": described(nullable(BOOLEAN), "Whether to stream the answer.")},
    streams_on_demand=True,
    example=QUESTION | {"stream": False},
)

SHAPES = {
    "ai-chat": _AI_CHAT,
    "ai-chat-2024-05-29": _AI_CHAT_2024_05_29,
    "ai-chat-2024-01-28": _AI_CHAT_2024_01_28,
    "semantic-kernel": SEMANTIC_KERNEL,
    "semantic-kernel-python": SEMANTIC_KERNEL_PYTHON,
}
"""By the protocol's name."""
