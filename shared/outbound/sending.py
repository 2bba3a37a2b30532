"""Sends requests to servers that no SDK is for: of tools, and the connector of bots. Imports aiohttp: import it late.

An answer is bounded before it is parsed, and no redirect to another host is followed. What a server says gets into no
error of ours: a fault is told by its reason.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urljoin, urlsplit

import aiohttp

from shared.outbound.faults import Fault, Reason, ServiceFault

_MOST_REDIRECTS = 3
_CONNECTION_SECONDS = 5.0
"""Time limit for a connection; whoever sends limits the whole."""
_KEPT_SECONDS = 3.0
"""How long a connection is kept for the next request."""
_REPEATED = frozenset({307, 308})
"""Redirects that repeat the request as it is."""


class Connections:
    """The connections to such servers. They are opened at the first request."""

    def __init__(self) -> None:
        self._http: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send a request, and yield the answer, whose body is still to be read.

        Raises:
            ServiceFault: there is no answer, or it breaks off while it is read; says whether the request may have
                arrived.
        """
        if not all(value.isprintable() for value in headers.values()):  # some come from a server or its document
            raise ServiceFault(Fault(Reason.NOT_ACCEPTED))
        if self._http is None:
            self._http = aiohttp.ClientSession(
                headers={"Accept-Encoding": "identity", "User-Agent": "switchboard"},
                # Shorter than servers keep one: a call on a connection that is being closed may or may not have run.
                connector=aiohttp.TCPConnector(keepalive_timeout=_KEPT_SECONDS),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTION_SECONDS),
                trust_env=True,
            )
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                async with self._http.request(
                    method, url, params=[*query], headers=headers, data=body, allow_redirects=False
                ) as response:
                    onward = _redirect(response, url)
                    if onward is None:
                        yield response
                        return
                url, query = onward, ()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise ServiceFault(Fault(Reason.UNREACHABLE)) from None
        except aiohttp.ClientError:
            raise ServiceFault(Fault(Reason.CUT_OFF)) from None
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))

    async def aclose(self) -> None:
        """Close the connections; a later request would open new ones."""
        http, self._http = self._http, None
        if http is not None:
            await http.close()


def _redirect(response: aiohttp.ClientResponse, url: str) -> str | None:
    """The URL of a redirect within the same host, such as to one with a slash behind it; None if it is no redirect.

    Raises ServiceFault if it leads elsewhere, or wants another request: the key and the arguments are not for that.
    """
    if not 300 <= response.status < 400:
        return None
    with suppress(ValueError):  # it is no URL
        onward = urljoin(str(response.url), response.headers.get("Location", ""))
        if response.status in _REPEATED and urlsplit(onward)[:2] == urlsplit(url)[:2]:
            return onward
    raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status))
