"""Types of the AI Chat Protocol in its versions."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from tools.description.shapes.context import Context
from tools.description.shapes.parts import SessionState


class AssistantMessage(TypedDict):
    """The answer's text."""

    role: Literal["assistant"]
    content: str


class TextPiece(TypedDict, total=False):
    """A piece of the answer's text."""

    role: Literal["assistant"]
    content: Annotated[str, Field(description="The next piece of the text.")]


class AiChatAnswer(TypedDict):
    """A whole answer."""

    message: AssistantMessage
    context: Context
    session_state: SessionState


class AiChatDelta(TypedDict):
    """A record of a streamed answer. Join the texts; merge the contexts key by key."""

    delta: TextPiece
    context: NotRequired[Context]
    session_state: NotRequired[SessionState]


class AiChatExtras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    session_state: SessionState


class AiChat20240529Answer(TypedDict):
    """A whole answer."""

    message: AssistantMessage
    context: Context
    sessionState: NotRequired[SessionState]


class AiChat20240529Delta(TypedDict):
    """A record of a streamed answer. Join the texts; merge the contexts key by key."""

    delta: TextPiece
    context: NotRequired[Context]
    sessionState: NotRequired[SessionState]


class AiChat20240529Extras(TypedDict, total=False):
    """Keys of a request beyond those of all protocols."""

    sessionState: SessionState


class AiChat202604Answer(TypedDict):
    """A whole answer."""

    output_text: str
    context: Context
    session_state: SessionState


class ContextRecord(TypedDict):
    """Where the answer comes from. Merge the contexts key by key."""

    type: Literal["response.context"]
    context: Context
    session_state: NotRequired[SessionState]


class TextRecord(TypedDict):
    """A piece of the answer's text."""

    type: Literal["response.output_text.delta"]
    delta: Annotated[str, Field(description="The next piece of the text.")]
    agent: NotRequired[Annotated[str, Field(description="In a team's answer: the agent whose message this is.")]]
