"""Requests through the SDK's client. Imports `openai`: import it late."""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cache
from secrets import token_hex
from ssl import SSLContext

import aiohttp
import httpx2
import msgspec

from shared.chat_types import ImagePart
from shared.outbound.faults import LARGEST_REFUSAL, Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection
from shared.outbound.openai_service.late_package import openai

_NO_KEY = "none"
"""Stands for a key where the service needs none: the SDK insists on one."""
_WRITE_TIMEOUT_SECONDS = 30.0
"""Time limit of one write of the request to the connection."""
_IMAGE_STEP = 48 * 1024
"""Bytes of an image that are encoded at a time; a multiple of 3, so that base64 needs no padding between steps."""
_LARGEST_ANSWER = 64 * 1024 * 1024
"""Maximum size of an answer in bytes. The longest that models write, 128,000 tokens, has 500 bytes for each."""


@cache
def _certificates() -> SSLContext:
    """The certificates that this machine trusts: reading them takes longer than all else that a client begins with."""
    return httpx2.create_ssl_context()


class Sender:
    """One `AsyncOpenAI` with its connections.

    The SDK's own retries are off: they would sleep past our deadline and repeat what was only slow.
    """

    def __init__(self, connection: OpenAIConnection, timeouts: AnswerTimeouts) -> None:
        self._tokens = None
        if connection.uses_identity:
            from shared.outbound.azure_service.signing_in import IdentityTokens

            self._tokens = IdentityTokens()
        key = connection.api_key.get_secret_value() if connection.api_key else _NO_KEY
        # Waiting for the answer has no limit here: it depends on how far the answer is, which its reader knows.
        timeout = httpx2.Timeout(connect=timeouts.connect, read=None, write=_WRITE_TIMEOUT_SECONDS, pool=None)
        self._client = openai.AsyncOpenAI(
            base_url=connection.base_url,
            api_key=self._tokens.token if self._tokens else key,
            max_retries=0,
            timeout=timeout,
            # A redirect would take the question and its sources to another place than the settings name.
            http_client=openai.DefaultAioHttpClient(
                timeout=timeout,
                follow_redirects=False,
                headers={"Accept-Encoding": "identity"},
                verify=_certificates(),
                event_hooks={"response": [_bound]},
            ),
        )

    async def post(self, path: str, body: Mapping[str, object]) -> httpx2.Response:
        """Send a request, again if its connection was a dead one; return the answer with its body unread.

        Args:
            path: Below the base URL.
            body: JSON, with an `ImagePart` in the place of each `data:` URL.
        """
        encoded = _encode(body)
        try:
            return await self._post(path, *encoded)
        except openai.APIConnectionError as exc:
            if not _closed_before_answer(exc):
                raise
        return await self._post(path, *encoded)

    async def post_once(self, path: str, body: Mapping[str, object]) -> httpx2.Response:
        """Send a request of JSON alone, once; return the answer with its body unread."""
        return await self._post(path, *_encode(body))

    async def _post(self, path: str, text: bytes, images: Sequence[tuple[ImagePart, bytes]]) -> httpx2.Response:
        length = len(text) + sum(image.data_url_length + len(after) for image, after in images)
        # With this `cast_to` the SDK hands over the raw response, whatever the overload says of `stream_cls`.
        answer: object = await self._client.post(
            path,
            cast_to=httpx2.Response,
            content=_stream(text, images) if images else text,
            options={"headers": {"Content-Length": str(length)}},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        if not isinstance(answer, httpx2.Response):
            raise TypeError(f"the SDK returned {type(answer).__name__}")
        return answer

    async def get(self, path: str) -> object:
        """Fetch JSON, once. The path is below the base URL, or a URL of its own.

        Returns:
            What the answer holds; None if that is no JSON.
        """
        answer = await self._client.get(path, cast_to=httpx2.Response)
        try:
            return msgspec.json.decode(answer.content)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._tokens:
            await self._tokens.aclose()


def _closed_before_answer(exc: BaseException) -> bool:
    """Whether the service closed the connection without an answer: a kept one that it had given up, most often.

    A new connection mends that at once, so that it is worth neither a pause nor a line in the log.
    """
    while cause := exc.__cause__:
        exc = cause
    return isinstance(exc, aiohttp.ServerDisconnectedError | ConnectionResetError | BrokenPipeError)


def _encode(body: Mapping[str, object]) -> tuple[bytes, Sequence[tuple[ImagePart, bytes]]]:
    """Encode a body as JSON, except its images: encoded, they would be in memory several times.

    Returns the text up to the first image, and each image with the text after it.
    """
    images: list[ImagePart] = []
    mark = token_hex(16)  # which no text of the body can know

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


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends at a limit, in bytes: what is beyond it is left out if `is_cut`, else it is a fault."""

    def __init__(self, body: httpx2.AsyncByteStream, largest: int, *, is_cut: bool) -> None:
        self._body = body
        self._left = largest
        self._is_cut = is_cut

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        async for piece in self._body:
            self._left -= len(piece)
            if self._left < 0:
                if self._is_cut:
                    return
                raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Bound the body of an answer, which the SDK and we read as it is sent: a compressed one unpacks to any size.

    Raises ServiceFault if the answer is compressed, although that was not asked for.
    """
    is_refusal = not response.is_success
    if response.headers.get("content-encoding", "").lower() not in {"", "identity"}:
        if not is_refusal:
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status_code))
        del response.headers[
            "content-encoding"
        ]  # For a refusal only the status matters, so the body may stay compressed.
    response.encoding = "utf-8"  # JSON has no other, and Python knows charsets that unpack or that fail
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(
            response.stream, LARGEST_REFUSAL if is_refusal else _LARGEST_ANSWER, is_cut=is_refusal
        )
