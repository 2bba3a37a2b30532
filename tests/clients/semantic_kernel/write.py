"""Writes messages with the package as its OpenAI connector makes them."""

# pyright: reportMissingModuleSource=false
# The package is in this folder's own environment, where the checks do not look.

from collections.abc import Mapping

from semantic_kernel.contents import (
    ChatMessageContent,
    FinishReason,
    StreamingChatMessageContent,
    StreamingTextContent,
    TextContent,
)

MODEL = "gpt-4o"
METADATA = {
    "id": "chatcmpl-1",
    "created": 1706301586,
    "system_fingerprint": None,
    "usage": {"prompt_tokens": 9, "completion_tokens": 4},
}


def whole(
    name: str | None = None, metadata: Mapping[str, object] | None = None, finish_reason: FinishReason | None = None
) -> str:
    """A message as the connector makes it of an answer."""
    message = ChatMessageContent(
        role="assistant",
        items=[TextContent(text="Eye exams are covered. 👓")],
        name=name,
        metadata=metadata,
        finish_reason=finish_reason,
        ai_model_id=MODEL,
    )
    return message.model_dump_json()


def piece(
    text: str | None, metadata: Mapping[str, object] | None = None, finish_reason: FinishReason | None = None
) -> str:
    """A message as the connector makes it of a chunk."""
    items = [] if text is None else [StreamingTextContent(choice_index=0, text=text)]
    message = StreamingChatMessageContent(
        role="assistant",
        choice_index=0,
        items=items,
        metadata=metadata,
        finish_reason=finish_reason,
        ai_model_id=MODEL,
        function_invoke_attempt=0,
    )
    return message.model_dump_json()


def write() -> dict[str, str]:
    """The JSON that the package writes of each message, by name."""
    return {
        "plain": ChatMessageContent(role="assistant", content="Eye exams are covered.").model_dump_json(),
        "with metadata": whole(metadata=METADATA, finish_reason=FinishReason.STOP),
        "with a name": whole(name="Researcher"),
        "a question": ChatMessageContent(role="user", content="Are eye exams covered?").model_dump_json(),
        "the first piece": piece("", metadata=METADATA),
        "a piece": piece("Eye exams"),
        "the last piece": piece(None, finish_reason=FinishReason.STOP),
    } | {f"ended by {reason.value}": whole(finish_reason=reason) for reason in FinishReason}
