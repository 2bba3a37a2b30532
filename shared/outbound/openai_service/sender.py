"""Sends requests through the SDK's client, and sends them again where that helps. Imports `openai`: import it late."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import httpx2
import openai
from openai import AsyncStream

from shared.chat_types import Json
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.outbound.openai_service.errors import fault_of
from shared.outbound.openai_service.reasons import Reason
from shared.outbound.openai_service.service import RetryPolicy
from shared.outbound.retry_after import wait_before_retry

if TYPE_CHECKING:
    from shared.outbound.openai_service.identity_tokens import IdentityTokens

_log = logging.getLogger("switchboard.openai")

_NO_KEY = "none"
"""For services that need no key: the SDK wants to send one."""

_MAY_PASS = frozenset({Reason.UNREACHABLE, Reason.RATE, Reason.BROKEN})
"""What a second try may mend. A service that is too slow would only get slower."""

_FIRST_BACKOFF = 0.5
"""Seconds before the first retry where the service names none; doubled for each further one."""


class Sender:
    """One `AsyncOpenAI` with its connections.

    The SDK's own retries are off: they would sleep past our deadline and repeat what was only slow.
    """

    def __init__(self, connection: OpenAIConnection, patience: RetryPolicy) -> None:
        self._patience = patience
        self._tokens = _identity_tokens() if connection.uses_identity else None
        key = connection.api_key.get_secret_value() if connection.api_key else _NO_KEY
        # Waiting for the answer has no limit here: it depends on how far the answer is, which the reader knows.
        timeout = httpx2.Timeout(connect=patience.connect, read=None, write=30.0, pool=None)
        self._client = openai.AsyncOpenAI(
            base_url=connection.base_url,
            api_key=self._tokens.token if self._tokens else key,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(timeout=timeout),
        )

    async def post(self, path: str, body: Mapping[str, Json], *, deadline: float) -> httpx2.Response:
        """Send a request, again where that may help; return the answer with its body unread."""
        attempt = 0
        while True:
            try:
                return await self._post_once(path, body)
            except openai.APIError as exc:
                wait = self._wait_before_retry(exc, attempt)
                if wait is None or asyncio.get_running_loop().time() + wait >= deadline:
                    raise
            _log.info("Retrying %s in %.1f s", path, wait)
            await asyncio.sleep(wait)
            attempt += 1

    async def get(self, path: str) -> None:
        """Fetch something for its status alone, once."""
        await self._client.get(path, cast_to=httpx2.Response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        if self._tokens:
            await self._tokens.aclose()

    async def _post_once(self, path: str, body: Mapping[str, Json]) -> httpx2.Response:
        # With this `cast_to` the SDK hands over the raw response, whatever the overload says of `stream_cls`.
        answer: object = await self._client.post(
            path, cast_to=httpx2.Response, body=body, stream=True, stream_cls=AsyncStream[object]
        )
        if not isinstance(answer, httpx2.Response):
            raise TypeError(f"the SDK returned {type(answer).__name__}")
        return answer

    def _wait_before_retry(self, exc: openai.APIError, attempt: int) -> float | None:
        """Seconds to wait before the next try; None where there should be none."""
        fault = fault_of(exc)
        if fault.reason not in _MAY_PASS or attempt >= self._patience.retries:
            return None
        backoff = _FIRST_BACKOFF * 2**attempt
        return wait_before_retry(fault.retry_after, backoff=backoff, longest=self._patience.longest_wait)


def _identity_tokens() -> "IdentityTokens":
    from shared.outbound.openai_service.identity_tokens import IdentityTokens

    return IdentityTokens()
