"""What the host refuses before it looks for a function, and how many requests it takes at once.

Source: the limits of Kestrel, the web server of the Functions host, and its answers to requests beyond them.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from aiohttp import HttpVersion11, web

from local.settings_file import Throttle

REQUEST_LINE_BYTES = 8 * 1024
"""Of the method, the path with the query, and the version."""
HEADER_BYTES = 32 * 1024
"""Of all headers of a request together. A token with 200 groups takes 12 kB."""
HEADERS = 100
"""How many a request may have."""


def find_excess(request: web.BaseRequest) -> web.Response | None:
    """Return the answer to a request that the host's web server refuses; None if it takes it."""
    headers = request.raw_headers
    if len(request.method) + len(request.raw_path) + len(" HTTP/1.1\r\n ") > REQUEST_LINE_BYTES:
        return web.Response(status=414, text=f"The request's first line is over {REQUEST_LINE_BYTES:,} bytes.")
    if len(headers) > HEADERS or sum(len(name) + len(value) for name, value in headers) > HEADER_BYTES:
        return web.Response(status=431, text=f"The request's headers are over {HEADER_BYTES:,} bytes, or {HEADERS}.")
    if request.version >= HttpVersion11 and "Host" not in request.headers:
        return web.Response(status=400, text="The request has no Host.")
    if "%00" in request.raw_path.partition("?")[0]:
        return web.Response(status=400, text="The path has a NUL.")
    return None


class Slots:
    """The requests that the host works on. A slot is free again when its invocation ends, even if its caller has left.

    Args:
        throttle: How many there are.
    """

    def __init__(self, throttle: Throttle) -> None:
        self._free = asyncio.Semaphore(throttle.concurrent)
        self._left = throttle.outstanding

    async def take(self) -> bool:
        """Wait for a slot; return False at once if too many wait."""
        if not self._left:
            return False
        self._left -= 1
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            self._left += 1
            raise
        return True

    def free_after(self, invocations: Sequence[Future[bool]]) -> None:
        """Free a slot when the invocation in it has ended, or now if there was none. Call it on the loop of both."""
        for invocation in invocations:
            invocation.add_done_callback(lambda _: self._return())
        if not invocations:
            self._return()

    def _return(self) -> None:
        self._left += 1
        self._free.release()
