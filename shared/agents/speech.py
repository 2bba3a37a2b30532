"""What an agent says for one message, while it is being said."""

from dataclasses import dataclass, field

from shared.chat_models import ModelFinished
from shared.events import CompletionStarted, Usage


@dataclass(slots=True)
class Speech:
    """One message, over all calls of the agent's model."""

    completion: CompletionStarted | None = None
    """The last call's."""
    finished: ModelFinished | None = None
    """The last call's."""
    usage: Usage | None = None
    """All calls together."""
    texts: list[str] = field(default_factory=list[str])
    """The text of each call."""
    is_waiting: bool = False
    """Whether it waits for others' model calls to end."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n\n".join(text for part in self.texts if (text := part.strip()))
