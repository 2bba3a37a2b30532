"""The parts of the app. `shared/turns/begin.py` makes turns of them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from copy import replace
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from shared.agents.definitions import AgentDefinition, Agents
from shared.audit import Audit
from shared.budgets.ledger import Ledger
from shared.chat_models import ChatModel
from shared.chat_types import PartHealth
from shared.documents import DocumentReader
from shared.guard import SafetyService
from shared.history import HistoryStore
from shared.identity import CallerTokens, Identity
from shared.retrieval import Retriever
from shared.runtime.features import absent, lack_of
from shared.runtime.late_imports import Late, run_import
from shared.settings import Settings
from shared.telemetry import Tracing
from shared.tools import ToolSource
from shared.tools.calls import CallBook
from shared.verdicts import VerdictStore

if TYPE_CHECKING:
    from shared.guard.shields import Shields
    from shared.identity.bot_tokens import BotTokens
    from shared.outbound.bot_connector import Connector
    from shared.reading.sandbox import Sandbox


_UNCHECKED = "Nothing is checked. Set RAI_MODE to annotate or enforce, and RAI_ENDPOINT to a service that checks."


class Service(msgspec.Struct, frozen=True):
    """Parts of the app, built once per process."""

    settings: Settings
    """The settings it was built from."""
    model: ChatModel
    """Answers questions."""
    retriever: Retriever
    """Finds sources."""
    history: HistoryStore
    """Keeps chats."""
    read_agents: Callable[[], Agents]
    """Reads the team and its members, once. The sample team, which no setting names, is read when it is needed."""
    chat_agent: AgentDefinition | None
    """The agent that answers single chat (`CHAT_AGENT`); None: the model answers without an agent."""
    safety: SafetyService | None
    """Checks texts; None if no safety service is configured."""
    identity: Identity
    """Identifies the caller."""
    documents: Late[DocumentReader]
    """Documents that answers cite."""
    pages: Late[DocumentReader]
    """Images of the documents' pages."""
    sandbox: "Sandbox"
    """Reads the files of requests."""
    tracing: Tracing | None = None
    """Makes a trace of each turn; None if traces are off."""
    ledger: Ledger | None = None
    """Counts requests and tokens; None if there are no limits."""
    tool_servers: ToolSource | None = None
    """Tools of servers and APIs for agents; None if the agents file has none."""
    caller_tokens: CallerTokens | None = None
    """Tokens of callers on whose behalf tools are called; None if none is."""
    book: CallBook | None = None
    """Keeps the calls of a run; None: this is no run's."""
    verdicts: VerdictStore | None = None
    """Keeps what callers say of answers; None if no chats are kept."""
    audit: Audit | None = None
    """Writes the audit record; None if it is off."""
    shields: "Shields | None" = None
    """Looks for orders to the model in what it reads; None if they are off."""
    bot_tokens: "BotTokens | None" = None
    """Checks who sends activities; None if there is no bot."""
    connector: "Connector | None" = None
    """Sends as the bot."""

    @property
    def agents(self) -> Agents:
        """The team and its members."""
        return self.read_agents()

    @property
    def no_images(self) -> str | None:
        """A sentence that says why the model gets no images; None if it takes them."""
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
        return self.chat_agent is None and self.no_images is None

    async def check(self) -> dict[str, PartHealth]:
        """Check the health of every part, by the part's name in `GET /health`."""
        checks: dict[str, Awaitable[PartHealth]] = {
            "model": self.model.check(),
            "retrieval": self.retriever.check(),
            "history": self.history.check(),
            "documents": self._check_documents(),
            "safety": self._check_safety(),
            "identity": self._check_identity(),
        }
        if self.ledger and self.ledger.check:
            checks["limits"] = self.ledger.check()
        if self.shields:
            checks["shields"] = self._check_shields(self.shields)
        if self.tool_servers:
            checks["tools"] = self.tool_servers.check()
        parts = dict(zip(checks, await asyncio.gather(*checks.values()), strict=True))
        if lacks := [lack_of(name) for name in absent()]:
            parts["packages"] = PartHealth("deployed", ok=True, detail=" ".join(lacks), needed=False)
        return parts

    async def load(self) -> None:
        """Import and read what requests would import and read late. Another import can run between two modules."""
        for module in _late_modules(self.settings):
            await run_import(import_module, module)
        await run_import(self.read_agents)

    async def _check_documents(self) -> PartHealth:
        return await (await self.documents.get()).check()

    async def _check_identity(self) -> PartHealth:
        return replace(self.identity.health, facts={"access_control": self.settings.access_control})

    async def _check_shields(self, shields: "Shields") -> PartHealth:
        return replace(await shields.check(), needed=shields.enforced and self.settings.rai_on_error != "allow")

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
    if settings.shields == "on":
        yield from ("shared.guard.shielded_turn",)
    if settings.chat_agent:
        yield from ("shared.agents.single", "shared.agents.framework")
    if settings.agents_file:
        yield from ("shared.agents.team", "shared.agents.framework")
