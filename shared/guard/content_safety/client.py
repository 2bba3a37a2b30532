"""Client of Azure AI Content Safety. Imports `azure.core`: import it late.

Source: Content Safety REST API 2024-09-01, 'Text Operations': 'Analyze Text' and 'Shield Prompt'; 'What is Azure AI
Content Safety?', 'Input requirements'.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from azure.core.exceptions import HttpResponseError
from pydantic import SecretStr

from shared.chat_types import Json
from shared.outbound.azure_service.ai_service import AIClient, AIService
from shared.outbound.azure_service.asking import fault_of
from shared.outbound.faults import Reason

_SERVICE = AIService("Azure AI Content Safety", "CONTENT_SAFETY", "a text of this conversation: ask in other words")
_VERSION = {"api-version": "2024-09-01"}
_CATEGORIES = {"Hate": "HATE", "SelfHarm": "SELF_HARM", "Sexual": "SEXUAL", "Violence": "VIOLENCE"}
"""Azure's categories, and their names in our findings."""


class _Category(msgspec.Struct):
    category: str
    severity: int


class _Analysis(msgspec.Struct, rename="camel"):
    categories_analysis: list[_Category]


class _Verdict(msgspec.Struct, rename="camel"):
    attack_detected: bool


class _Shielded(msgspec.Struct, rename="camel"):
    user_prompt_analysis: _Verdict | None = None
    documents_analysis: list[_Verdict] = []


class TextAnalyser:
    """One resource, with its connections.

    Args:
        endpoint: URL of the resource.
        key: Its key; None: the app's identity.
        options: Further options of the SDK's client.
    """

    def __init__(self, endpoint: str, key: SecretStr | None, **options: Any) -> None:  # noqa: ANN401 (the SDK's own)
        self._client = AIClient(endpoint, key, **options)
        self.aclose = self._client.aclose

    async def severities(self, text: str, *, deadline: float, invocation_id: str) -> dict[str, int]:
        """Analyse a text, and return the severity of each category, 0 to 7.

        Args:
            text: 1 to 10,000 characters.
            deadline: Latest time of the result, in seconds of the event loop's clock.
            invocation_id: The invocation's id, for the log.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no result; says what to do.
        """

        async def analyse() -> dict[str, int]:
            found = msgspec.json.decode(await self._analyse(text), type=_Analysis).categories_analysis
            severities = {_CATEGORIES[one.category]: one.severity for one in found}
            if len(severities) < len(_CATEGORIES):  # a missing one would pass unchecked
                raise ValueError("not the severity of each category")
            return severities

        return await _SERVICE.ask(analyse, deadline=deadline, invocation_id=invocation_id)

    async def attacks(
        self, prompt: str, documents: Sequence[str], *, deadline: float, invocation_id: str
    ) -> tuple[bool, ...]:
        """Look for attacks in the words of a user and in documents; return whether each has one, the prompt first.

        Args:
            prompt: At most 10,000 characters; may be empty.
            documents: At most five, of 10,000 characters together.
            deadline: Latest time of the result, in seconds of the event loop's clock.
            invocation_id: The invocation's id, for the log.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no result; says what to do.
        """
        content = msgspec.json.encode({"userPrompt": prompt, "documents": documents})

        async def shield() -> tuple[bool, ...]:
            answer = await self._client.post("contentsafety/text:shieldPrompt", _VERSION, content)
            found = msgspec.json.decode(answer, type=_Shielded)
            if (prompt and found.user_prompt_analysis is None) or len(found.documents_analysis) != len(documents):
                raise ValueError("not a verdict on each text")
            first = bool(prompt and found.user_prompt_analysis and found.user_prompt_analysis.attack_detected)
            return first, *(verdict.attack_detected for verdict in found.documents_analysis)

        return await _SERVICE.ask(shield, deadline=deadline, invocation_id=invocation_id)

    async def check_access(self, *, seconds: float) -> None:
        """Check that the service answers and accepts the credentials, by an empty text, which it refuses as such.

        Raises:
            Unavailable, RateLimited, TooSlow: it does not; says what to do.
        """

        async def analyse_nothing() -> None:
            try:
                await self._analyse("")
            except HttpResponseError as exc:
                if fault_of(exc).reason is not Reason.NOT_ACCEPTED:
                    raise

        await _SERVICE.ask(analyse_nothing, deadline=asyncio.get_running_loop().time() + seconds)

    async def _analyse(self, text: str) -> bytes:
        asked: dict[str, Json] = {"text": text, "categories": [*_CATEGORIES], "outputType": "EightSeverityLevels"}
        return await self._client.post("contentsafety/text:analyze", _VERSION, msgspec.json.encode(asked))
