"""Vectors of texts and images from Azure AI Vision, in one space: a text finds the images that show what it says.

Imports `azure.core`: import it late. Source: Azure AI Vision, 'Do image retrieval using multimodal embeddings'.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from azure.core import AsyncPipelineClient
from azure.core.credentials import AzureKeyCredential
from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy, AzureKeyCredentialPolicy
from azure.core.rest import AsyncHttpResponse, HttpRequest
from pydantic import SecretStr

from shared.errors import BadRequest
from shared.outbound.azure_service.ai_service import AIService
from shared.outbound.azure_service.asking import OPTIONS
from shared.outbound.azure_service.signing_in import AI_SERVICES, Credential, close, credential_of
from shared.settings import Settings

DIMENSIONS = 1024
"""Numbers in a vector."""
MOST_WORDS = 70
"""Of a text; the service refuses more."""

_API_VERSION = "2024-02-01"
_MODEL_VERSION = "2023-04-15"
_VECTOR_TIMEOUT_SECONDS = 20.0
"""For one vector, retries included."""
_AT_ONCE = 4
"""Requests at the same time."""

_SERVICE = AIService("Azure AI Vision", "AZURE_VISION", "a question, or an image of a page")


class _Vector(msgspec.Struct):
    vector: list[float]


_decoder = msgspec.json.Decoder(_Vector)


class VisionEmbedder:
    """The `retrieval` routes of one resource.

    Args:
        endpoint: The resource's URL.
        key: Its key; None: the app's identity.
        options: More for the SDK's client.
    """

    def __init__(self, endpoint: str, key: SecretStr | None, **options: Any) -> None:  # noqa: ANN401 (the SDK's own)
        self._endpoint = endpoint.rstrip("/")
        self._credential = credential_of(key)
        self._client: AsyncPipelineClient[HttpRequest, AsyncHttpResponse] = AsyncPipelineClient(
            self._endpoint, policies=_policies(self._credential), **{**OPTIONS, **options}
        )
        self._turns = asyncio.Semaphore(_AT_ONCE)

    @classmethod
    def from_settings(cls, settings: Settings) -> "VisionEmbedder":
        """The resource that the settings name; they have been checked to be complete."""
        return cls(settings.azure_vision_endpoint or "", settings.azure_vision_api_key)

    @property
    def model(self) -> str:
        """The model's name; vectors of different models do not compare."""
        return f"azure-ai-vision-{_MODEL_VERSION}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order, of its first words if there are many.

        Raises:
            RateLimited, BadRequest, Unavailable, TooSlow: there is no vector; says what to do.
        """
        return await asyncio.gather(*map(self._embed_text, texts))

    async def embed_image(self, image: bytes) -> list[float] | None:
        """The vector of an image; None where the service does not take it.

        Raises:
            RateLimited, Unavailable, TooSlow: there is no vector now; says what to do.
        """
        try:
            return await self._vector("vectorizeImage", image, "application/octet-stream")
        except BadRequest:
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await close(self._credential)

    async def _embed_text(self, text: str) -> list[float]:
        words = " ".join(text.split()[:MOST_WORDS])
        return await self._vector("vectorizeText", msgspec.json.encode({"text": words}), "application/json")

    async def _vector(self, route: str, content: bytes, content_type: str) -> list[float]:
        async def post() -> list[float]:
            request = HttpRequest(
                "POST",
                f"{self._endpoint}/computervision/retrieval:{route}",
                params={"api-version": _API_VERSION, "model-version": _MODEL_VERSION},
                headers={"Content-Type": content_type, "Accept": "application/json"},
                content=content,
            )
            response = await self._client.send_request(request)
            response.raise_for_status()
            vector = _decoder.decode(response.content).vector  # what is none raises a ValueError
            if len(vector) != DIMENSIONS:
                raise ValueError("a vector of another length")
            return vector

        async with self._turns:
            return await _SERVICE.ask(post, deadline=asyncio.get_running_loop().time() + _VECTOR_TIMEOUT_SECONDS)


def _policies(credential: Credential) -> list[Any]:
    """What puts the credential into a request."""
    if isinstance(credential, AzureKeyCredential):
        return [AzureKeyCredentialPolicy(credential, "Ocp-Apim-Subscription-Key")]
    return [AsyncBearerTokenCredentialPolicy(credential, AI_SERVICES)]
