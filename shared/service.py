"""The parts of the app, and how a turn is made of them: which turn answers a request, and what wraps its events."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition, Agents
from shared.agents.turns import agent_turn, team_turn
from shared.budgets.ledger import Ledger
from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, PartHealth, RequestContext
from shared.core.attachments import Attachment, attach
from shared.core.citation_links import linked, without_links
from shared.core.kept_chats import resume
from shared.core.recorder import record
from shared.core.refusals import Begin, begin_turn, without_errors
from shared.core.source_images import SourceImages
from shared.core.turn import run_task, run_turn
from shared.documents import DocumentReader
from shared.errors import NotFound
from shared.events import ChatEvent
from shared.guard import SafetyService
from shared.history import HistoryStore, Mode
from shared.identity import Identity
from shared.late_imports import run_import
from shared.retrieval import Retriever
from shared.settings import Settings
from shared.telemetry import Tracing, unwatched
from shared.wire.protocol import Protocol

if TYPE_CHECKING:
    from shared.reading.sandbox import Sandbox


_UNCHECKED = "Nothing is checked. Set RAI_MODE to annotate or enforce, and RAI_ENDPOINT to a service that checks."


@dataclass(frozen=True, slots=True)
class Service:
    """Parts of the app, built once per process."""

    settings: Settings
    """The settings it was built from."""
    model: ChatModel
    """Answers questions."""
    retriever: Retriever
    """Finds sources."""
    history: HistoryStore
    """Keeps chats."""
    agents: Agents
    """The team and its members."""
    chat_agent: AgentDefinition | None
    """The agent that answers single chat (`CHAT_AGENT`); None: the model answers without an agent."""
    safety: SafetyService | None
    """Checks texts; None if no safety service is configured."""
    identity: Identity
    """Identifies the caller."""
    documents: DocumentReader
    """Documents that answers cite."""
    pages: DocumentReader
    """Images of the documents' pages."""
    sandbox: "Sandbox"
    """Reads the files of requests."""
    tracing: Tracing | None = None
    """Makes a trace of each turn; None if traces are off."""
    ledger: Ledger | None = None
    """Counts requests and tokens; None if there are no limits."""

    async def resume(self, request: ChatRequest, context: RequestContext, *, team: bool) -> ChatRequest:
        """Give a request the conversation that is kept for it, or begin one."""
        return await resume(request, context, self.history, Mode.MULTI_AGENT if team else Mode.STANDARD)

    def turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """Answer with the model or with an agent; returns the events of the turn.

        Raises:
            NotFound: the request names an agent that there is not.
        """
        agent = self._agent_for(request)

        def begin(asked: ChatRequest) -> AsyncGenerator[ChatEvent]:
            if asked.is_task:
                return run_task(asked, context, self.model)
            if agent:
                return agent_turn(asked, context, agent, self._agent_parts)
            images = SourceImages(self.pages, self.documents, self._no_images())
            return run_turn(asked, context, self.model, self.retriever, images)

        return self._wrapped(begin, request, context)

    def _agent_for(self, request: ChatRequest) -> AgentDefinition | None:
        if request.agent is None:
            return self.chat_agent
        for agent in self.agents.agents:
            if agent.name == request.agent:
                return agent
        names = ", ".join(agent.name for agent in self.agents.agents)
        raise NotFound(f"model: there is no agent of that name here. There are: {names}.")

    def team_turn(self, request: ChatRequest, context: RequestContext) -> AsyncGenerator[ChatEvent]:
        """Answer with the team of agents; returns the events of the turn.

        Raises:
            NotFound: the request names an agent that there is not. One that there is changes nothing: all answer.
        """
        self._agent_for(request)
        return self._wrapped(lambda asked: team_turn(asked, context, self._agent_parts), request, context, team=True)

    def events(
        self, protocol: Protocol, request: ChatRequest, context: RequestContext, *, team: bool
    ) -> AsyncGenerator[ChatEvent]:
        """Return the turn's events, with citations as links where the protocol and the settings want them."""
        links = self.settings.citation_links
        base = links.rstrip("/") if links and protocol.links_citations else None
        if base:
            request = without_links(request, base)
        if request.overrides.show_progress and not protocol.shows_progress:
            request = replace(request, overrides=replace(request.overrides, show_progress=False))
        events = self.team_turn(request, context) if team else self.turn(request, context)
        return linked(events, base) if base else events

    def _wrapped(
        self, begin: Begin, request: ChatRequest, context: RequestContext, *, team: bool = False
    ) -> AsyncGenerator[ChatEvent]:
        """Wrap a turn's events: guard them, record them and trace them.

        An event passes the wrappers from top to bottom. Each is a generator that reads from the one above it:

            turn          run_turn, agent_turn or team_turn makes the events
              │
            guard         sees all events; holds back what is not cleared, adds thoughts, or ends the turn with an
              │           error (only with RAI_MODE)
            refusals      begins turn and guard again without earlier questions that are refused (only if the
              │           conversation has some without an answer)
            recorder      sees what the guard let out, and nothing else gets into the history; writes it when `Finished`
              │           comes, and adds a thought first if that fails (only if the request names a conversation)
            tracing       sees what the caller gets; its span is open before the turn starts and until it has ended, so
              │           the spans of the model, the search and the guard are its children (only with traces)
            RunningTurn   is not here: the trigger runs the result in one task, and an exception from any wrapper
                          becomes one last `Failed` there

        Nothing runs before the trigger asks the last wrapper for an event, and closing the last one closes all.
        """
        request = without_errors(request)
        events = begin_turn(lambda asked: self._guarded(begin(asked), asked, context, team=team), request)
        events = record(events, request, context, self.history)
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
        return AgentParts(self.agents, self.model, self.retriever, watch)

    async def attach(self, request: ChatRequest, files: Sequence[Attachment], caller: str) -> ChatRequest:
        """Put the files into the request's messages.

        Args:
            request: The conversation.
            files: The files.
            caller: Identifies the caller, who may not use all readers.

        Raises:
            BadRequest, TooLarge: a file cannot be read; the message names it and says why.
        """
        return await attach(request, files, self.sandbox, no_images=self._no_images(), caller=caller)

    def _no_images(self) -> str | None:
        if not self.model.takes_images:
            return (
                "The extractive model, which answers here, sees no images: set OPENAI_CHAT_MODEL or "
                "AZURE_OPENAI_CHAT_DEPLOYMENT to a model that does."
            )
        if not self.settings.chat_vision:
            return "CHAT_VISION is false here: set it to true if the model sees images, or send text."
        return None

    @property
    def sees_images(self) -> bool:
        """Whether what answers single chat can be given images."""
        return self.chat_agent is None and self._no_images() is None

    async def check(self) -> dict[str, PartHealth]:
        """Check the health of every part, by the part's name in `GET /health`."""
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
        """Import the modules that requests would import late. Another import can run between two of them."""
        for module in _late_modules(self.settings):
            await run_import(import_module, module)

    async def _check_identity(self) -> PartHealth:
        health = await self.identity.check()
        return replace(health, facts={"access_control": self.settings.access_control})

    async def _check_safety(self) -> PartHealth:
        mode = self.settings.rai_mode
        if self.safety is None:
            return PartHealth("off", ok=True, detail=_UNCHECKED, needed=False)
        health = await self.safety.check()
        needed = mode == "enforce" and self.settings.rai_on_error != "allow"
        return replace(health, facts={**health.facts, "mode": mode}, needed=needed)


def _late_modules(settings: Settings) -> Iterator[str]:
    """Names of modules that the settings ask for and that no part imports when it is built."""
    if settings.rai_mode != "off":
        yield from ("shared.guard.rules", "shared.guard.stream_guard")
    if settings.chat_agent:
        yield from ("shared.agents.single", "shared.agents.framework")
    if settings.agents_file:
        yield from ("shared.agents.team", "shared.agents.framework")
