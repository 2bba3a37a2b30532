"""The transport of Azure's SDKs: it reads no more of a response than a service of this kind really sends.

Imports `azure.core`: import it late.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
from azure.core.pipeline.transport import AioHttpTransport

from shared.outbound.bounded import body_of
from shared.outbound.faults import LARGEST_REFUSAL, ServiceFault

LARGEST_RESULT = 16 * 1024 * 1024
"""Maximum size of a response in bytes. Real ones are much smaller."""
LARGEST_LAYOUT = 256 * 1024 * 1024
"""Maximum size of a scanned document's layout in bytes: some 50,000 a page, at most 2,000 pages."""

_CONNECTION_TIMEOUT_SECONDS = 5
"""Time limit for a connection."""
_LONGEST_SLEEP_SECONDS = 2.0
"""Limit for the time that an SDK waits before a retry of its own."""


class _Answer(aiohttp.ClientResponse):
    """An answer whose body is bounded, and read as it is: a small compressed one can unpack to any size."""

    largest = LARGEST_RESULT

    async def read(self) -> bytes:
        """Read the body; of a refusal, whose status says enough, nothing if it is too long.

        Raises:
            ServiceFault: it is too long, or compressed although that was not asked for.
        """
        if self._body is None:
            is_refusal = self.status >= 300
            try:
                self._body = await body_of(self, LARGEST_REFUSAL if is_refusal else self.largest)
            except ServiceFault:
                if not is_refusal:
                    raise
                self._body = b""
        return self._body


class _Layout(_Answer):
    largest = LARGEST_LAYOUT


class _BoundedTransport(AioHttpTransport):
    """A transport with a session of its own, which is made in the first request: only then is there a loop."""

    def __init__(self, answer: type[_Answer], **options: Any) -> None:  # noqa: ANN401  (the SDK's own)
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]  (its arguments have no types)
        self._answer = answer
        self._is_new = True

    async def open(self) -> None:
        """Make the session, once."""
        if self._is_new:
            self._is_new = False
            self.session = aiohttp.ClientSession(
                response_class=self._answer,
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=True,
            )
        await super().open()  # pyright: ignore[reportUnknownMemberType]

    async def sleep(self, duration: float) -> None:
        """Wait before one of the SDK's own retries: a request waits with it, however long the service asks for."""
        await asyncio.sleep(min(duration, _LONGEST_SLEEP_SECONDS))


def client_options(*, layouts: bool = False, **options: Any) -> Mapping[str, Any]:  # noqa: ANN401  (the SDK's own)
    """The options of one client of an SDK, with a transport that the client closes.

    Args:
        layouts: Whether it reads the layouts of documents, which are long.
        options: Further options of the client.
    """
    answer = _Layout if layouts else _Answer
    return {
        "transport": _BoundedTransport(answer, connection_timeout=_CONNECTION_TIMEOUT_SECONDS, **options),
        # The SDKs' own retries would sleep past our deadline, and a redirect would take text and key elsewhere.
        "retry_total": 0,
        "permit_redirects": False,
        **options,
    }
