"""Vectors of texts and images from Azure AI Vision. They share one space, so a text can find images of its subject.

Imports `azure.core`: import it late. Source: Azure AI Vision, 'Do image retrieval using multimodal embeddings'.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import SecretStr

from shared.errors import BadRequest
from shared.outbound.azure_service.ai_service import AIClient, AIService

DIMENSIONS = 1024
"""Numbers in a vector."""
MOST_WORDS = 70
"""Words of a text that are embedded; the service refuses more."""

_MODEL_VERSION = "2023-04-15"
_VERSIONS = {"api-version": "2024-02-01", "model-version": _MODEL_VERSION}
_VECTOR_TIMEOUT_SECONDS = 20.0
"""Time limit for one vector, retries included."""
_CONCURRENT_REQUESTS = 4
"""Requests that run at the same time, at most."""

_SERVICE = AIService("Azure AI Vision", "AZURE_VISION", "a question, or an image of a page")


class _Vector(msgspec.Struct):
    vector: list[float]


_decoder = msgspec.json.Decoder(_Vector)


class VisionEmbedder:
    """An `Embedder` for texts, and for images, of one Azure AI Vision resource.

    Args:
        endpoint: The resource's URL.
        key: Its key; None: the app signs in with its identity.
        options: Further options of the SDK's client.
    """

    part_size = None

    def __init__(self, endpoint: str, key: SecretStr | None, **options: Any) -> None:  # noqa: ANN401 (the SDK's own)
        self._client = AIClient(endpoint, key, **options)
        self.aclose = self._client.aclose
        self._slots = asyncio.Semaphore(_CONCURRENT_REQUESTS)

    @property
    def model(self) -> str:
        """See `Embedder.model`."""
        return f"azure-ai-vision-{_MODEL_VERSION}"

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:  # noqa: ARG002 (one kind of vector)
        """See `Embedder.embed`. Of a long text, only the first `MOST_WORDS` words count."""
        return await asyncio.gather(*map(self._embed_text, texts))

    async def embed_image(self, image: bytes) -> list[float] | None:
        """Make the vector of an image; None if the service does not accept the image.

        Raises:
            RateLimited, Unavailable, TooSlow: the service failed.
        """
        try:
            return await self._vector("vectorizeImage", image, "application/octet-stream")
        except BadRequest:
            return None

    async def _embed_text(self, text: str) -> list[float]:
        words = " ".join(text.split()[:MOST_WORDS])
        return await self._vector("vectorizeText", msgspec.json.encode({"text": words}), "application/json")

    async def _vector(self, route: str, content: bytes, content_type: str) -> list[float]:
        async def post() -> list[float]:
            answer = await self._client.post(f"computervision/retrieval:{route}", _VERSIONS, content, content_type)
            vector = _decoder.decode(answer).vector  # raises a ValueError for anything else
            if len(vector) != DIMENSIONS:
                raise ValueError("a vector of another length")
            return vector

        async with self._slots:
            return await _SERVICE.ask(post, deadline=asyncio.get_running_loop().time() + _VECTOR_TIMEOUT_SECONDS)
