"""The boundary to language models: `ChatModel` with its requests and events.

Two implementations: `openai_chat` for OpenAI, Azure OpenAI and everything compatible, and `extractive`, which
is built-in and answers with sentences of the sources.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol

import msgspec

from shared.chat_types import (
    Json,
    JsonForm,
    Message,
    PartHealth,
    Passage,
    RequestContext,
    ToolCall,
    ToolChoice,
    ToolDefinition,
)
from shared.events import CompletionStarted, FilterAnnotation, ReasoningDelta, Usage


class ModelRequest(msgspec.Struct, frozen=True):
    """One call of a model."""

    messages: tuple[Message, ...]
    """The whole prompt."""
    question: str
    """The user's question on its own, as the prompt has it wrapped in sources."""
    sources: tuple[Passage, ...] = ()
    """The sources that the prompt cites, for a model that reads them as data."""
    tools: tuple[ToolDefinition, ...] = ()
    """Functions that the model may call instead of answering."""
    tool_choice: ToolChoice = msgspec.field(default_factory=ToolChoice)
    """Whether and how it calls them."""
    language: str | None = None
    """The language to answer in, a BCP 47 tag, as the prompt says it; None: the question's own."""
    want_followups: bool = False
    """Whether the prompt asks for follow-up questions as `<<question>>`."""
    temperature: float | None = None
    """Sampling temperature, 0 to 2; None: the model's default."""
    seed: int | None = None
    """Seed for repeatable answers, if the model supports it; None: no seed."""
    max_tokens: int | None = None
    """Limit of tokens in the answer; None: the model's own limit."""
    reasoning_effort: str | None = None
    """How long a reasoning model may think; None: as configured."""
    form: JsonForm | None = None
    """The form of the answer, if it has to be JSON."""
    model: str | None = None
    """Another model of the same service, by its name there, as an agent's definition may ask for; None: the configured
    one. The extractive model is the only one of its service."""
    rarities: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    """Inverse document frequency of words in the whole index, as in `SearchResult`; empty: not known."""
    titles: tuple[str, ...] = ()
    """Titles of documents that the user may see, as in `SearchResult`."""
    foreign: str | None = None
    """The language of the question if its words can hardly be found, as in `SearchResult`."""
    is_task: bool = False
    """Whether a front end asks for itself, such as for a title of a chat."""
    place: str = ""
    """Which call of its turn it is, for what keeps calls: by it the same call is found when the turn runs again, though
    the date or a time limit in the prompt has changed. Empty: found by all of the above."""


HISTORY_TOKENS = 8_000
"""Token budget for the text of earlier messages. The context windows of current models are several times as large."""


class Room(msgspec.Struct, frozen=True):
    """How many tokens a model has room for, as `tokens_in` counts."""

    sources: int
    """Of sources, where no caller says how many there are to be."""
    history: int = HISTORY_TOKENS
    """Of earlier messages."""
    answers_json: bool = False
    """Whether it answers best as JSON, as small models do."""


class ModelText(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str
    """The text; never empty."""


class ModelFinished(msgspec.Struct, frozen=True):
    """The last event of a successful call."""

    reason: str
    """`stop`, `length`, `content_filter` or `tool_calls`."""
    usage: Usage | None = None
    """Tokens used; None if the service does not report them."""
    content_filter_results: Json = None
    """Results of Azure's content filter for the answer, unchanged."""
    answer_kind: Literal["answer", "nearest", "nothing"] | None = None
    """What the extractive model found: an answer, the nearest passage, or nothing; None for other models."""


type ModelEvent = CompletionStarted | ReasoningDelta | ModelText | FilterAnnotation | ToolCall | ModelFinished


class ChatModel(Protocol):
    """A language model."""

    takes_images: bool
    """Whether messages may carry images."""
    takes_tools: bool
    """Whether it can call any function, and not only those that the app itself has."""

    async def room(self) -> Room:
        """How much it reads of each part of a prompt; a service may be asked for that."""
        ...

    def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the answer as it is made: `CompletionStarted`, reasoning, text, annotations, calls, a `ModelFinished`.

        Closing the iterator early closes the connection to the service.

        Raises:
            RateLimited, ContentFiltered, Unavailable, TooSlow, BadRequest: before or during the answer.
        """
        ...

    async def check(self) -> PartHealth:
        """Whether the model can be used now."""
        ...
