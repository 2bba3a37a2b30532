"""Client of Azure AI Content Safety. Imports `azure.ai.contentsafety`: import it late.

Source: Content Safety REST API 2023-10-01, 'Text Operations - Analyze Text', and its error codes.
"""

import asyncio
from typing import Any

from azure.ai.contentsafety.aio import ContentSafetyClient
from azure.ai.contentsafety.models import AnalyzeTextResult
from azure.core.exceptions import HttpResponseError
from pydantic import SecretStr

from shared.chat_types import Json
from shared.outbound.azure_service.ai_service import AIService
from shared.outbound.azure_service.asking import fault_of
from shared.outbound.azure_service.signing_in import close, credential_of
from shared.outbound.azure_service.transport import client_options
from shared.outbound.faults import Reason

_SERVICE = AIService("Azure AI Content Safety", "CONTENT_SAFETY", "a text of this conversation: ask in other words")
_CATEGORIES = {"Hate": "HATE", "SelfHarm": "SELF_HARM", "Sexual": "SEXUAL", "Violence": "VIOLENCE"}
"""Azure's categories, and their names in our findings."""


class TextAnalyser:
    """One client of the SDK, with its connections.

    Args:
        endpoint: URL of the resource.
        key: Its key; None: the app's identity.
        options: More options of the SDK's client.
    """

    def __init__(self, endpoint: str, key: SecretStr | None, **options: Any) -> None:  # noqa: ANN401 (the SDK's own)
        self._credential = credential_of(key)
        self._client = ContentSafetyClient(endpoint, self._credential, **client_options(**options))

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
            return _read(await self._client.analyze_text(_options(text)))

        return await _SERVICE.ask(analyse, deadline=deadline, invocation_id=invocation_id)

    async def check_access(self, *, seconds: float) -> None:
        """Check that the service answers and accepts the credentials, by an empty text, which it refuses as such.

        Raises:
            Unavailable, RateLimited, TooSlow: it does not; says what to do.
        """

        async def analyse_nothing() -> None:
            try:
                await self._client.analyze_text(_options(""))
            except HttpResponseError as exc:
                if fault_of(exc).reason is not Reason.NOT_ACCEPTED:
                    raise

        await _SERVICE.ask(analyse_nothing, deadline=asyncio.get_running_loop().time() + seconds)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await close(self._credential)


def _options(text: str) -> dict[str, Json]:
    return {"text": text, "categories": [*_CATEGORIES], "outputType": "EightSeverityLevels"}


def _read(result: AnalyzeTextResult) -> dict[str, int]:
    """The severity of each category. A missing one is an error: it would pass unchecked."""
    try:
        found = {_CATEGORIES[item.category]: item.severity for item in result.categories_analysis}
    except (AttributeError, KeyError, TypeError):
        found = {}
    severities = {category: severity for category, severity in found.items() if isinstance(severity, int)}
    if len(severities) < len(_CATEGORIES):
        raise ValueError("not the severity of each category")
    return severities
