"""Requests to one endpoint of an OpenAI-compatible service. Imports aiohttp: import it late."""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from secrets import token_hex

import aiohttp
import msgspec

from shared.chat_types import ImagePart, Json
from shared.outbound.bounded import body_of
from shared.outbound.faults import LARGEST_REFUSAL, Fault, ServiceFault, retry_after_of
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection
from shared.outbound.openai_service.reasons import read_fault

_IMAGE_STEP = 48 * 1024
"""Bytes of an image that are encoded at a time; a multiple of 3, so that base64 needs no padding between steps."""


class Refused(ServiceFault):
    """An answer with a status that says why there is none."""

    def __init__(self, fault: Fault, words: str, error: Mapping[str, Json]) -> None:
        super().__init__(fault)
        self.words = words
        """Its body."""
        self.error = error
        """The `error` object in it; empty if there is none."""


class Sender:
    """The connections to one endpoint; they are opened at the first request."""

    def __init__(self, connection: OpenAIConnection, timeouts: AnswerTimeouts) -> None:
        self._tokens = None
        if connection.uses_identity:
            from shared.outbound.azure_service.signing_in import IdentityTokens

            self._tokens = IdentityTokens()
        self._connection = connection
        self._connect_seconds = timeouts.connect
        self._http: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> aiohttp.ClientResponse:
        """Send a request, again if its connection was a dead one; return the answer with its body unread.

        Args:
            path: Below the base URL.
            body: JSON, with an `ImagePart` in the place of each `data:` URL.

        Raises:
            Refused, ServiceFault, aiohttp.ClientError: see `errors.SDK`.
        """
        try:
            return await self.post_once(path, body)
        except aiohttp.ClientError as exc:
            if not _closed_before_answer(exc):
                raise
        return await self.post_once(path, body)

    async def post_once(self, path: str, body: Mapping[str, object]) -> aiohttp.ClientResponse:
        """Send a request once; else as `post`."""
        text, images = _encode(body)
        length = len(text) + sum(image.data_url_length + len(after) for image, after in images)
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        return await self._answer("POST", path, headers, _stream(text, images))

    async def get(self, path: str) -> object:
        """Fetch JSON, once. The path is below the base URL, or a URL of its own.

        Returns:
            What the answer holds; None if that is no JSON.
        """
        return decoded(await body_of(await self._answer("GET", path)))

    async def aclose(self) -> None:
        """Close the connections; a later request would open new ones."""
        http, self._http = self._http, None
        if http:
            await http.close()
        if self._tokens:
            await self._tokens.aclose()

    async def _answer(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        data: AsyncGenerator[bytes] | None = None,
    ) -> aiohttp.ClientResponse:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                headers={"Accept-Encoding": "identity", "User-Agent": "switchboard"},
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                # Waiting for the answer has no limit here: it depends on how far the answer is, which its reader knows.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
                trust_env=self._connection.proxy is not None,
            )
        key = self._connection.api_key
        token = await self._tokens.token() if self._tokens else key.get_secret_value() if key else None
        response = await self._http.request(
            method,
            path if "://" in path else f"{self._connection.base_url.rstrip('/')}{path}",
            headers={**(headers or {}), **({"Authorization": f"Bearer {token}"} if token else {})},
            data=data,
            # A redirect would take the question and its sources to another place than the settings name.
            allow_redirects=False,
        )
        if response.status < 300:
            return response
        raise await _refused(response)


async def _refused(response: aiohttp.ClientResponse) -> Refused:
    """Read why there is no answer: the status says most, and a body that is too long or compressed is left out."""
    try:
        words = await body_of(response, LARGEST_REFUSAL)
    except (ServiceFault, aiohttp.ClientError):
        words = b""
    finally:
        response.close()
    body = decoded(words)
    error = body.get("error", body) if isinstance(body, dict) else body
    headers = response.headers
    fault = read_fault(
        error,
        status=response.status,
        request_id=headers.get("x-request-id") or headers.get("apim-request-id"),
        retry_after=retry_after_of(headers),
    )
    return Refused(fault, words.decode(errors="replace"), error if isinstance(error, dict) else {})


def decoded(body: bytes) -> Json:
    """Decode JSON; None if it is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _closed_before_answer(exc: BaseException) -> bool:
    """Whether the service closed the connection without an answer: a kept one that it had given up, most often.

    A new connection mends that at once, so that it is worth neither a pause nor a line in the log.
    """
    while cause := exc.__cause__:
        exc = cause
    return isinstance(exc, aiohttp.ServerDisconnectedError | ConnectionResetError | BrokenPipeError)


def _encode(body: Mapping[str, object]) -> tuple[bytes, Sequence[tuple[ImagePart, bytes]]]:
    """Encode a body as JSON, except its images: encoded, they would be in memory several times.

    Returns:
        The text before the first image, and each image with the text after it.
    """
    images: list[ImagePart] = []
    mark = f"image {token_hex(16)}"  # which no text of the body can know

    def replace(value: object) -> str:
        if not isinstance(value, ImagePart):
            raise TypeError(f"{type(value).__name__} is no JSON")
        images.append(value)
        return mark

    text = json.dumps(body, default=replace, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    first, *others = text.encode().split(mark.encode())
    return first, list(zip(images, others, strict=True))


async def _stream(text: bytes, images: Sequence[tuple[ImagePart, bytes]]) -> AsyncGenerator[bytes]:
    yield text
    for image, after in images:
        yield image.data_url_prefix.encode()
        for start in range(0, len(image.data), _IMAGE_STEP):
            yield b64encode(memoryview(image.data)[start : start + _IMAGE_STEP])
        yield after
