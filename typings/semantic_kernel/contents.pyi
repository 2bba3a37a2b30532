"""What tests/clients/semantic_kernel uses; the package is installed in that folder's own environment only."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self

class FinishReason(StrEnum):
    STOP = "stop"

class TextContent:
    ai_model_id: str | None
    metadata: dict[str, object]
    text: str
    encoding: str | None
    def __init__(
        self,
        *,
        text: str,
        ai_model_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        encoding: str | None = None,
    ) -> None: ...

class StreamingTextContent(TextContent):
    def __init__(
        self,
        *,
        choice_index: int,
        text: str,
        ai_model_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        encoding: str | None = None,
    ) -> None: ...

class ChatMessageContent:
    role: str
    name: str | None
    items: Sequence[object]
    ai_model_id: str | None
    metadata: dict[str, object]
    encoding: str | None
    finish_reason: FinishReason | None
    def __init__(
        self,
        role: str,
        items: Sequence[TextContent] | None = None,
        content: str | None = None,
        *,
        name: str | None = None,
        finish_reason: FinishReason | None = None,
        ai_model_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None: ...
    @classmethod
    def model_validate_json(cls, json_data: str) -> Self: ...
    def model_dump_json(self) -> str: ...

class StreamingChatMessageContent(ChatMessageContent):
    def __init__(
        self,
        role: str,
        choice_index: int,
        items: Sequence[TextContent] | None = None,
        *,
        name: str | None = None,
        encoding: str | None = None,
        finish_reason: FinishReason | None = None,
        ai_model_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        function_invoke_attempt: int | None = None,
    ) -> None: ...
    def __add__(self, other: Self) -> Self: ...
