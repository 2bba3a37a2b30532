"""A local HTTP server that stands in for Azure AI Content Safety: it follows the REST reference and can be scripted.

    async with ContentSafetyStandIn() as service:
        service.finds("knife", "Violence", 4)     # from now on, in any text with the word
        service.attacks.add("ignore")             # the same for Prompt Shields
    service.fail(429, {"Retry-After": "0"})   # for the next request, first come, first served
        ...point the app at it with service.settings...
        assert service.texts == ["…"]

Source: Content Safety REST API 2024-09-01, 'Text Operations': 'Analyze Text' and 'Shield Prompt'; the limits of the
latter are in 'What is Azure AI Content Safety?', 'Input requirements'.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tests.stand_ins.local_server import Failure, LocalServer

ANALYZE, SHIELD = "/contentsafety/text:analyze", "/contentsafety/text:shieldPrompt"
VERSION = "2024-09-01"

type Category = Literal["Hate", "SelfHarm", "Sexual", "Violence"]
CATEGORIES: tuple[Category, ...] = ("Hate", "SelfHarm", "Sexual", "Violence")


class Analyze(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: str = Field(min_length=1, max_length=10_000)
    categories: list[Category] = [*CATEGORIES]
    blocklist_names: list[str] = Field(default=[], alias="blocklistNames")
    halt_on_blocklist_hit: bool = Field(default=False, alias="haltOnBlocklistHit")
    output_type: Literal["FourSeverityLevels", "EightSeverityLevels"] = Field(
        default="FourSeverityLevels", alias="outputType"
    )


class Shield(BaseModel):
    """The body of a request to Prompt Shields."""

    model_config = ConfigDict(strict=True, extra="forbid")

    user_prompt: str = Field(default="", max_length=10_000, alias="userPrompt")
    documents: list[str] = Field(default=[], max_length=5)

    @field_validator("documents")
    @classmethod
    def _fit(cls, documents: list[str]) -> list[str]:
        if sum(map(len, documents)) > 10_000:
            raise ValueError("the documents have more than 10,000 characters")
        return documents


class ContentSafetyStandIn(LocalServer):
    """The server, as an async context manager; every method may be called at any time.

    Args:
        tls: For https; then the address is that of `localhost`.
    """

    key = "content-safety-key-0123456789"
    token = "token-of-the-app"  # noqa: S105 (nobody else takes it)

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.texts: list[str] = []
        """What was analysed, in the order of the requests."""
        self.attacks: set[str] = set()
        """Words of an attack, for Prompt Shields."""
        self.shielded: list[Shield] = []
        """What Prompt Shields was asked."""
        self.most_at_once = 0
        """Requests that were under way at the same time."""
        self.left = asyncio.Event()
        """Set when a client leaves before its answer."""
        self.arrived = asyncio.Condition()
        """Told of each request."""
        self._at_once = 0
        self._words: list[tuple[str, Category, int]] = []
        self._failures: deque[Failure] = deque()
        self._fault: Failure | None = None
        self._gates: dict[str, asyncio.Event] = {}

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at this server."""
        return {
            "RAI_BACKEND": "content-safety",
            "CONTENT_SAFETY_ENDPOINT": self.endpoint,
            "CONTENT_SAFETY_API_KEY": self.key,
        }

    def finds(self, word: str, category: Category, severity: int) -> None:
        """Find this in texts that hold the word."""
        self._words.append((word, category, severity))

    def holds(self, word: str) -> asyncio.Event:
        """Answer about texts that hold the word only when the event is set."""
        return self._gates.setdefault(word, asyncio.Event())

    def fail(
        self,
        status: int,
        headers: dict[str, str] | None = None,
        body: str | None = None,
        content_type: str = "application/json",
    ) -> None:
        """Answer the next request with an error, or with a body that is no result."""
        self._failures.append(Failure(status, headers or {}, body, content_type))

    @contextmanager
    def failing(self, status: int) -> Generator[None]:
        """Answer every request with this error meanwhile."""
        self._fault = Failure(status)
        try:
            yield
        finally:
            self._fault = None

    async def wait_for(self, count: int) -> None:
        """Wait until so many texts have come in."""
        async with asyncio.timeout(60), self.arrived:
            await self.arrived.wait_for(lambda: len(self.texts) >= count)

    async def wait_for_shields(self, count: int) -> None:
        """Wait until Prompt Shields was asked so often."""
        async with asyncio.timeout(60), self.arrived:
            await self.arrived.wait_for(lambda: len(self.shielded) >= count)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.left.set()
            raise
        finally:
            self._at_once -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self._fault:
            return self._fault.response()
        if self._failures:
            return self._failures.popleft().response()
        if refusal := self._refusal(request):
            return refusal
        try:
            if request.path == SHIELD:
                return await self._shield(Shield.model_validate_json(await request.read()))
            asked = Analyze.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _error(400, "InvalidRequestBody", str(invalid))
        async with self.arrived:
            self.texts.append(asked.text)
            self.arrived.notify_all()
        for word, gate in self._gates.items():
            if word in asked.text:
                await gate.wait()
        found = [{"category": category, "severity": self._severity(asked, category)} for category in asked.categories]
        return web.json_response({"blocklistsMatch": [], "categoriesAnalysis": found})

    async def _shield(self, asked: Shield) -> web.Response:
        async with self.arrived:
            self.shielded.append(asked)
            self.arrived.notify_all()
        for word, gate in self._gates.items():
            if word in asked.user_prompt or any(word in document for document in asked.documents):
                await gate.wait()
        prompt, *documents = (
            {"attackDetected": any(word in text for word in self.attacks)}
            for text in (asked.user_prompt, *asked.documents)
        )
        return web.json_response({"userPromptAnalysis": prompt, "documentsAnalysis": documents})

    def _refusal(self, request: web.Request) -> web.Response | None:
        if request.path not in (ANALYZE, SHIELD) or request.method != "POST":
            return _error(404, "404", "Resource not found")
        if request.query.get("api-version") != VERSION:
            return _error(400, "BadArgument", "The API version is not known.")
        key, bearer = request.headers.get("Ocp-Apim-Subscription-Key"), request.headers.get("Authorization")
        if key != self.key and bearer != f"Bearer {self.token}":
            return _error(401, "401", "Access denied due to invalid subscription key or wrong API endpoint.")
        if request.content_type != "application/json":
            return _error(415, "UnsupportedMediaType", "Send JSON.")
        return None

    def _severity(self, asked: Analyze, category: Category) -> int:
        found = [severity for word, kind, severity in self._words if kind == category and word in asked.text]
        severity = max(found, default=0)
        return severity if asked.output_type == "EightSeverityLevels" else severity // 2 * 2


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response(
        {"error": {"code": code, "message": message}}, status=status, headers={"x-ms-error-code": code}
    )
