"""Types of the routes of chats."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from shared.wire.history_body import ChatMode, MessageRole
from tools.description.shapes.parts import Time


class Chat(TypedDict):
    """A chat, as in a list of chats."""

    id: str
    title: str
    lastMessage: Annotated[str, Field(description="The beginning of the last message; empty if there is none.")]
    lastUpdated: Time
    messageCount: int
    mode: ChatMode
    shared: NotRequired[Annotated[str, Field(description="With `shared=true`: the id of its link.")]]
    pinned: NotRequired[Annotated[Literal[True], Field(description="The chat is pinned; missing if it is not.")]]
    found: NotRequired[Annotated[str, Field(description="In a search: the text around the words in a message.")]]


class ChatMessage(TypedDict):
    """A stored message."""

    id: str
    content: str
    role: MessageRole
    timestamp: Annotated[str, Field(description="As its writer sent it.")]
    agentName: NotRequired[str]
    agentIdentifier: NotRequired[str]
    toolCall: NotRequired[Any]
    toolCallId: NotRequired[str]
    finishReason: NotRequired[
        Annotated[str, Field(description="Why the answer is incomplete; missing if it ended with 'stop'.")]
    ]
    context: NotRequired[
        Annotated[Any, Field(description="As its writer sent it, such as an answer's sources and thoughts.")]
    ]


class ChatLink(TypedDict):
    """Where a shared chat is."""

    id: str
    url: Annotated[str, Field(description="The address of its copy.")]


class SharedMessage(TypedDict):
    """A message of a shared chat."""

    role: Literal["user", "assistant"]
    content: str
    timestamp: str
    citations: Annotated[list[str], Field(description="The sources that it cites, without documents of one's own.")]
    agentName: NotRequired[str]
    finishReason: NotRequired[str]


class SharedChat(TypedDict):
    """A copy of a chat, as it was when it was shared."""

    id: str
    title: Annotated[str, Field(description="The beginning of its first question.")]
    shared: Time
    messages: list[SharedMessage]
