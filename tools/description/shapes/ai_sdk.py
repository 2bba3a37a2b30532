"""Types of requests of AI SDK."""

from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from shared.wire.message_parts import MOST_PARTS


class AiSdkRequestMessage(TypedDict):
    """A `UIMessage` in a request. `_flat` of `ai_sdk_body` checks it; this is for the OpenAPI document."""

    role: Literal["user", "assistant", "system"]
    parts: Annotated[
        list[dict[str, Any]],
        Field(max_length=MOST_PARTS, description="As AI SDK makes them. Files are `data:` URLs."),
    ]


class AiSdkKeys(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    tools: Annotated[dict[str, Any], Field(description="The page's tools by their names, with `inputSchema`.")]
    toolChoice: Literal["auto", "none", "required"] | dict[str, Any]

    id: Annotated[str, Field(description="The chat's id. If the history has a chat of it, the turn is recorded there.")]
    resumable: Annotated[
        bool, Field(description="Keeps the answer: it goes on when the page leaves, and `resume` finds it again.")
    ]
    approvals: Annotated[
        Literal["parts"], Field(description="Asks for consent in the parts that AI SDK has for it since version 6.")
    ]
    trigger: Annotated[str, Field(description="`submit-message` or `regenerate-message`. It changes nothing.")]
