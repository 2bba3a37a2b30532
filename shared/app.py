"""Builds the service from the settings: the only module that names concrete plug-ins.

Each is imported when it is chosen, so that a cold start pays for nothing that the settings did not ask for.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from shared.agents.definitions import AgentDefinition, Agents, load_agents
from shared.agents.turns import AgentParts, agent_turn, team_turn
from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, PartHealth, RequestContext
from shared.core.attachments import Attachment, attach
from shared.core.recorder import record
from shared.core.turn import run_turn
from shared.errors import NotConfigured
from shared.events import ChatEvent
from shared.guard import SafetyService
from shared.history import HistoryStore
from shared.openai_service.connection import OpenAIConnection
from shared.openai_service.service import OpenAIService
from shared.retrieval import Embedder, PassageIndex, Retriever
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a request needs."""

    settings: Settings
    """What it was built from."""
    model: ChatModel
    """What answers."""
    retriever: Retriever
    """What finds sources."""
    history: HistoryStore
    """What keeps chats."""
    agents: Agents
    """The team, and who is in it."""
    chat_agent: AgentDefinition | None
    """The one of them that answers single chat; None: the model itself does."""
    safety: SafetyService | None
    """What checks texts; None where none is configured."""

    @property
    def content_dir(self) -> Path:
        """Where the indexed documents lie."""
        return content_dir(self.settings)

    def turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """The events of one answer."""
        if self.chat_agent:
            events = agent_turn(request, context, self.chat_agent, self._agent_parts)
        else:
            events = run_turn(request, context, self.model, self.retriever)
        return record(self._guarded(events, request, context), request, context, self.history)

    def team_turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """The events of a team's answer."""
        events = team_turn(request, context, self._agent_parts)
        return record(self._guarded(events, request, context, team=True), request, context, self.history)

    def _guarded(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, *, team: bool = False
    ) -> AsyncGenerator[ChatEvent]:
        settings = self.settings
        if settings.rai_mode == "off" or self.safety is None:
            return events
        from shared.guard.rules import Rules
        from shared.guard.stream_guard import guard

        rules = Rules(
            service=self.safety,
            kind=settings.rai_backend,
            model=settings.openai_chat_model or settings.azure_openai_chat_deployment or "extractive",
            mode=settings.rai_mode,
            on_error=settings.rai_on_error or "block",
            timeout=settings.rai_timeout_seconds,
        )
        return guard(events, request, context, rules, team=team)

    @property
    def _agent_parts(self) -> AgentParts:
        return AgentParts(self.agents, self.model, self.retriever, self.settings.agents_concurrent_calls)

    async def attach(self, request: ChatRequest, files: Sequence[Attachment]) -> ChatRequest:
        """The request with its files in it.

        Raises:
            BadRequest, TooLarge: names the file that cannot be taken, and why.
        """
        return await attach(request, files, no_images=self._no_images()) if files else request

    def _no_images(self) -> str | None:
        if not self.model.takes_images:
            return (
                "The extractive model, which answers here, sees no images: set OPENAI_CHAT_MODEL or "
                "AZURE_OPENAI_CHAT_DEPLOYMENT to a model that does."
            )
        if not self.settings.chat_vision:
            return "CHAT_VISION is false here: set it to true if the model sees images, or send text."
        return None

    async def check(self) -> dict[str, PartHealth]:
        """The health of every part, by name."""
        checks = {
            "model": self.model.check(),
            "retrieval": self.retriever.check(),
            "history": self.history.check(),
            "safety": self._check_safety(),
        }
        return dict(zip(checks, await asyncio.gather(*checks.values()), strict=True))

    def load(self) -> None:
        """Import what the settings ask for and requests import late. Takes a while: call it in a thread."""
        for module in _late_modules(self.settings):
            import_module(module)

    async def _check_safety(self) -> PartHealth:
        mode = self.settings.rai_mode
        if self.safety is None:
            return PartHealth("off", ok=True, detail="Nothing is checked (RAI_MODE).", needed=False)
        health = await self.safety.check()
        needed = mode == "enforce" and self.settings.rai_on_error != "allow"
        return replace(health, facts={**health.facts, "mode": mode}, needed=needed)


def _late_modules(settings: Settings) -> Iterator[str]:
    """Those that belong to no part, which open what they need themselves."""
    if settings.rai_mode != "off":
        yield from ("shared.guard.rules", "shared.guard.stream_guard")
    if settings.chat_agent:
        yield from ("shared.agents.single", "shared.agents.framework")
    if settings.agents_file:
        yield from ("shared.agents.team", "shared.agents.framework")


def content_dir(settings: Settings) -> Path:
    """Where ingestion keeps a copy of each indexed document, for `GET /content/{path}`."""
    return settings.data_dir / "content"


def open_index(settings: Settings) -> PassageIndex:
    """The index that ingestion writes."""
    from shared.retrieval.sqlite_index import SqliteIndex

    openai = OpenAIConnection.from_settings(settings)
    embedding = openai.embedding_model if openai else None
    return SqliteIndex(_index_path(settings), embedding.name if embedding else None)


def open_embedder(settings: Settings) -> Embedder | None:
    """The embedding model, if the settings name one."""
    service = _openai_service(settings)
    return _embedder(service) if service else None


def build_service(settings: Settings) -> Service:
    """Choose and make the parts that the settings name."""
    from shared.retrieval.sqlite_retriever import SqliteRetriever

    agents = load_agents(settings.agents_file or _SAMPLE_TEAM)
    openai = _openai_service(settings)
    embedder = _embedder(openai) if openai else None
    return Service(
        settings,
        _chat_model(openai),
        SqliteRetriever(_index_path(settings), embedder),
        _HISTORY[settings.history_backend](settings),
        agents,
        _chat_agent(settings, agents),
        _SAFETY[settings.rai_backend](settings),
    )


_SAMPLE_TEAM = Path(__file__).parent.parent / "samples" / "agents.yaml"

_building = asyncio.Lock()
_service: Service | None = None


async def get_service() -> Service:
    """The service of this process, built at the first request, in a thread since its imports take a while.

    Raises:
        NotConfigured: a setting is missing or wrong.
    """
    global _service  # noqa: PLW0603 (the one singleton: a worker process serves one app)
    async with _building:
        if _service is None:
            settings = Settings.read(os.environ)
            _service = await asyncio.to_thread(build_service, settings)
    return _service


def _openai_service(settings: Settings) -> OpenAIService | None:
    connection = OpenAIConnection.from_settings(settings)
    return OpenAIService(connection) if connection else None


def _chat_model(openai: OpenAIService | None) -> ChatModel:
    if openai is None:
        from shared.chat_models.extractive.model import ExtractiveModel

        return ExtractiveModel()
    from shared.chat_models.openai_chat import OpenAIChatModel

    return OpenAIChatModel(openai)


def _chat_agent(settings: Settings, agents: Agents) -> AgentDefinition | None:
    name = settings.chat_agent
    if name is None:
        return None
    for agent in agents.agents:
        if agent.name == name:
            return agent
    names = ", ".join(agent.name for agent in agents.agents)
    raise NotConfigured(f"CHAT_AGENT names no agent of the team: set it to one of {names}, or unset it.")


def _embedder(openai: OpenAIService) -> Embedder | None:
    if openai.connection.embedding_model is None:
        return None
    from shared.retrieval.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder(openai, openai.connection.embedding_model)


def _sqlite_history(settings: Settings) -> HistoryStore:
    from shared.history.sqlite_history import SqliteHistory

    return SqliteHistory(settings.data_dir / "history.sqlite")


def _azure_table_history(settings: Settings) -> HistoryStore:
    from shared.history.azure_table import HistoryTable
    from shared.history.azure_table_history import AzureTableHistory

    if settings.history_table_endpoint:
        return AzureTableHistory(HistoryTable.at(settings.history_table_endpoint))
    connection = settings.azure_web_jobs_storage
    return AzureTableHistory(HistoryTable.of(connection.get_secret_value() if connection else ""))


def _no_history(_settings: Settings) -> HistoryStore:
    from shared.history.off import NoHistory

    return NoHistory()


_HISTORY = {"sqlite": _sqlite_history, "azure-table": _azure_table_history, "off": _no_history}
"""By `HISTORY_BACKEND`."""


def _rai_service(settings: Settings) -> SafetyService | None:
    if not settings.rai_endpoint:
        return None
    from shared.guard.rai_client import RaiService

    return RaiService.from_settings(settings)


def _content_safety(settings: Settings) -> SafetyService | None:
    from shared.guard.content_safety import ContentSafety

    return ContentSafety.from_settings(settings)


_SAFETY = {"rai": _rai_service, "content-safety": _content_safety}
"""By `RAI_BACKEND`. Built when it is configured even if `RAI_MODE` is off, for the companion function."""


def _index_path(settings: Settings) -> Path:
    """The embedded index."""
    return settings.data_dir / "index.sqlite"
