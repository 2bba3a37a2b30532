"""Agents: one that answers single chat, or a team that answers together, run by Microsoft Agent Framework.

`definitions` reads the team from a YAML file at start-up. `turns` begins a turn, and imports everything that needs the
framework when the first request comes. `team` and `single` are the two kinds of turns.
"""

from dataclasses import dataclass

from shared.agents.definitions import Agents
from shared.chat_models import ChatModel
from shared.retrieval import Retriever
from shared.telemetry import Watch, unwatched

CONCURRENT_CALLS = 8
"""Model calls of one request that run at the same time, at most. The other calls of the request wait."""


@dataclass(frozen=True, slots=True)
class AgentParts:
    """The parts that agents work with; the same for all requests."""

    agents: Agents
    """The team and its agents."""
    model: ChatModel
    """The model that answers for each agent."""
    retriever: Retriever
    """Where the agents' searches search."""
    watch: Watch = unwatched
    """Traces an agent while it makes a message."""
    concurrent_calls: int = CONCURRENT_CALLS
    """Model calls of one request that may run at the same time."""
