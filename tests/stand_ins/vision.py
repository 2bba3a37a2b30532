"""A local HTTP server that stands in for the multimodal embeddings of Azure AI Vision; it can be scripted.

    async with VisionStandIn() as service:
        service.fail(429, {"Retry-After": "0"})   # for the next request, first come, first served
        ...point the app at it with service.settings...
        assert service.texts == ["…"]

The vector of an image is that of the text that `shows` has for it, else one of its own.
Source: Azure AI Vision, 'Do image retrieval using multimodal embeddings' and 'Input requirements'.
"""

import ssl
from collections import deque
from hashlib import sha256
from io import BytesIO

from aiohttp import web
from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tests.stand_ins.hashed_embedder import hashed_vector
from tests.stand_ins.local_server import Failure, LocalServer

VERSION = "2024-02-01"
MODEL_VERSIONS = {"2022-04-11", "2023-04-15"}
DIMENSIONS = 1024
_LARGEST_IMAGE = 20 * 1024 * 1024


class TextBody(BaseModel):
    """The body of `vectorizeText`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: str = Field(min_length=1)


class VisionStandIn(LocalServer):
    """The server, as an async context manager; every method may be called at any time.

    Args:
        tls: For https; then the address is that of `localhost`.
    """

    key = "vision-key-0123456789"
    token = "token-of-the-app"  # noqa: S105 (nobody else takes it)

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.texts: list[str] = []
        """What was made vectors of, in the order of the requests."""
        self.images: list[bytes] = []
        """The same of images."""
        self.shows: dict[bytes, str] = {}
        """What an image shows, by its bytes: its vector is that of this text."""
        self._failures: deque[Failure] = deque()

    @property
    def settings(self) -> dict[str, str]:
        """The environment that points the app at this server."""
        return {"AZURE_VISION_ENDPOINT": self.endpoint, "AZURE_VISION_API_KEY": self.key}

    def fail(self, status: int, headers: dict[str, str] | None = None, body: str | None = None) -> None:
        """Answer the next request with an error, or with a body that is no vector."""
        self._failures.append(Failure(status, headers or {}, body))

    async def _serve(self, request: web.Request) -> web.Response:
        if self._failures:
            return self._failures.popleft().response()
        if refusal := self._refusal(request):
            return refusal
        if request.path.endswith(":vectorizeText"):
            return await self._vectorize_text(request)
        return await self._vectorize_image(request)

    def _refusal(self, request: web.Request) -> web.Response | None:
        if request.method != "POST" or request.path.removeprefix("/computervision/retrieval:") not in {
            "vectorizeText",
            "vectorizeImage",
        }:
            return _error(404, "404", "Resource not found")
        key, bearer = request.headers.get("Ocp-Apim-Subscription-Key"), request.headers.get("Authorization")
        if key != self.key and bearer != f"Bearer {self.token}":
            return _error(401, "401", "Access denied due to invalid subscription key or wrong API endpoint.")
        if request.query.get("api-version") != VERSION:
            return _error(400, "BadArgument", "The API version is not known.")
        if request.query.get("model-version") not in MODEL_VERSIONS:
            return _error(400, "InvalidRequest", "The model version is not known.")
        if unknown := set(request.query) - {"api-version", "model-version"}:
            return _error(400, "InvalidRequest", f"Unknown parameters: {unknown}")
        return None

    async def _vectorize_text(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return _error(415, "UnsupportedMediaType", "Send JSON.")
        try:
            asked = TextBody.model_validate_json(await request.read())
        except ValidationError as invalid:
            return _error(400, "InvalidRequest", str(invalid))
        if not 1 <= len(asked.text.split()) <= 70:
            return _error(400, "InvalidRequest", "The text has to have 1 to 70 words.")
        self.texts.append(asked.text)
        return _vector(request, asked.text)

    async def _vectorize_image(self, request: web.Request) -> web.Response:
        if request.content_type != "application/octet-stream":
            return _error(415, "UnsupportedMediaType", "Send an image.")
        data = await request.read()
        if len(data) >= _LARGEST_IMAGE:
            return _error(400, "InvalidImageSize", "The image is too large.")
        try:
            width, height = Image.open(BytesIO(data)).size
        except UnidentifiedImageError:
            return _error(400, "InvalidImageFormat", "The image is none.")
        if not (10 < width < 16_000 and 10 < height < 16_000):
            return _error(400, "InvalidImageSize", "The image has to have 10 to 16,000 pixels a side.")
        self.images.append(data)
        return _vector(request, self.shows.get(data) or sha256(data).hexdigest())


def _vector(request: web.Request, text: str) -> web.Response:
    vector = [*hashed_vector(text, DIMENSIONS)]
    return web.json_response({"modelVersion": request.query["model-version"], "vector": vector})


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
