"""Everything that a request needs, put together: which turn answers it, and what its events pass through."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition, Agents
from shared.agents.turns import agent_turn, team_turn
from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, PartHealth, RequestContext
from shared.core.attachments import Attachment, attach
from shared.core.recorder import record
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents import DocumentStore
from shared.events import ChatEvent
from shared.guard import SafetyService
from shared.history import HistoryStore
from shared.identity import Identity
from shared.late_imports import run_import
from shared.retrieval import Retriever
from shared.settings import Settings
from shared.telemetry import Tracing, unwatched


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
    identity: Identity
    """What tells who is calling."""
    documents: DocumentStore
    """The documents that answers cite."""
    pages: DocumentStore
    """Images of their pages."""
    tracing: Tracing | None = None
    """What notes each turn; None where nobody reads that."""

    def turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """The events of one answer."""
        if self.chat_agent:
            events = agent_turn(request, context, self.chat_agent, self._agent_parts)
        else:
            images = SourceImages(self.pages, self.documents, self._no_images())
            events = run_turn(request, context, self.model, self.retriever, images)
        return self._watched(events, request, context)

    def team_turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """The events of a team's answer."""
        return self._watched(team_turn(request, context, self._agent_parts), request, context, team=True)

    def _watched(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, *, team: bool = False
    ) -> AsyncGenerator[ChatEvent]:
        """A turn's events, guarded, recorded and traced."""
        events = record(self._guarded(events, request, context, team=team), request, context, self.history)
        return self.tracing.turn(events, request, context, "team" if team else "chat") if self.tracing else events

    def _guarded(
        self, events: AsyncGenerator[ChatEvent], request: ChatRequest, context: RequestContext, *, team: bool
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
        watch = self.tracing.agent if self.tracing else unwatched
        return AgentParts(
            self.agents, self.model, self.retriever, watch, concurrent_calls=self.settings.agents_concurrent_calls
        )

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
            "documents": self.documents.check(),
            "safety": self._check_safety(),
            "identity": self._check_identity(),
        }
        return dict(zip(checks, await asyncio.gather(*checks.values()), strict=True))

    async def load(self) -> None:
        """Import what the settings ask for and requests import late; between two modules a request has its turn."""
        for module in _late_modules(self.settings):
            await run_import(import_module, module)

    async def _check_identity(self) -> PartHealth:
        health = await self.identity.check()
        return replace(health, facts={"access_control": self.settings.access_control})

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
