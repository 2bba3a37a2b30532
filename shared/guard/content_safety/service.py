"""Azure AI Content Safety as a `SafetyService`, for those without access to the RAI service."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from shared.chat_types import Json, PartHealth, RequestContext
from shared.errors import SwitchboardError
from shared.guard.content_safety.session import ContentSafetySession
from shared.guard.content_safety.severity_policy import SeverityPolicy
from shared.outbound.asking import CachedHealth
from shared.runtime.late_imports import Late

if TYPE_CHECKING:
    from shared.guard.content_safety.client import TextAnalyser

_CHECK_SECONDS = 3.0
"""Time limit of a health check."""


class ContentSafety:
    """A Content Safety resource. Its client is made at the first use.

    Args:
        endpoint: URL of the resource.
        key: Its key; None: the app's identity.
        policy: Severities that block.
        timeout: Seconds that the analysis of a chunk may take.
    """

    def __init__(self, endpoint: str, key: SecretStr | None, policy: SeverityPolicy, timeout: float) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._key = key
        self._policy = policy
        self._timeout = timeout
        self._analyser = Late(lambda: _make_analyser(self._endpoint, self._key))
        self.analyser = self._analyser.get
        """Returns the client; makes it at the first call. A thread imports the SDK, since that takes long."""
        self.check = CachedHealth(self._ask_health).latest
        """Checks whether the service answers and accepts our credentials."""

    @asynccontextmanager
    async def session(self, context: RequestContext) -> AsyncGenerator[ContentSafetySession]:
        """Open a session; leaving it early cancels its analyses."""
        session = ContentSafetySession(await self.analyser(), self._policy, self._timeout, context)
        try:
            yield session
        finally:
            await session.aclose()

    async def aclose(self) -> None:
        """Close the connections; a later session would open new ones."""
        analyser, self._analyser.made = self._analyser.made, None
        if analyser is not None:
            await analyser.aclose()

    async def _ask_health(self) -> PartHealth:
        host = urlsplit(self._endpoint).netloc.rpartition("@")[2]  # without a password that the URL may carry
        facts: dict[str, Json] = {"host": host}
        try:
            await (await self.analyser()).check_access(seconds=_CHECK_SECONDS)
        except SwitchboardError as error:
            return PartHealth("content-safety", ok=False, detail=error.message, facts=facts)
        return PartHealth("content-safety", ok=True, detail=f"Azure AI Content Safety at {host}", facts=facts)


def _make_analyser(endpoint: str, key: SecretStr | None) -> "TextAnalyser":
    from shared.guard.content_safety.client import TextAnalyser

    return TextAnalyser(endpoint, key)
