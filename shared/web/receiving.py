"""Receives requests: what they prefer, and their bodies, no more at once than the memory holds.

Source: RFC 7240 for `Prefer`.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cache

import msgspec
from starlette.requests import ClientDisconnect, Request
from werkzeug.http import parse_list_header

from shared.errors import Overloaded, SwitchboardError, TooSlowBody, without_frames
from shared.runtime.reusable_timeout import ReusableTimeout
from shared.wire.request_body import Body, BodyReader

MAX_BODY_BYTES_IN_MEMORY = 256 * 1024 * 1024
"""Bytes of all bodies that are being received or answered. Files stay in memory as they were sent, once, until the
answer is complete. With the processes that read files (`shared/reading/sandbox.py`) this fits an instance of 2 GiB."""
SMALL_BODY_BYTES = 64 * 1024
"""Size up to which a body does not count, so that questions without files are answered while uploads are refused."""
RETRY_AFTER_SECONDS = 10
"""What `Retry-After` says while there is no room for a body: about as long as an answer takes."""
MIN_BYTES_PER_SECOND = 8 * 1024
"""Least rate at which a body may arrive, in bytes per second."""
MAX_PAUSE_SECONDS = 10.0
"""How long a body may stay behind that rate, in seconds."""
DISCARD_LIMIT = 64 * 1024 * 1024
"""Maximum bytes of a refused body that are read and dropped before the error is sent."""
DISCARD_TIMEOUT_SECONDS = 10.0
"""Time limit for reading and dropping a refused body, in seconds."""
_OWN_BLOCK_BYTES = 320 * 1024
"""Size from which a piece of memory is a mapping of its own. The buffers that asyncio reads into have 256 KiB."""
_M_MMAP_THRESHOLD = -3
"""The option's number. Source: glibc, `malloc.h`."""


class BodyBudget(msgspec.Struct):
    """Counts the bytes of all bodies that are in memory."""

    limit: int = MAX_BODY_BYTES_IN_MEMORY
    """How many there may be."""
    used: int = 0
    """How many there are."""


class _Share:
    """What one body uses of a budget."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._size = 0

    def check(self, size: int) -> None:
        """Raise Overloaded if there is no room for a body of this size, in bytes."""
        if size > SMALL_BODY_BYTES and self._budget.used - self._size + size > self._budget.limit:
            raise Overloaded(
                f"This app has no memory for another upload now. Try again in {RETRY_AFTER_SECONDS} seconds.",
                retry_after=RETRY_AFTER_SECONDS,
            )

    def count(self, size: int) -> None:
        """Count the body as one of this size, 0 when it is not needed any more; or raise Overloaded."""
        self.check(size)
        counted = size if size > SMALL_BODY_BYTES else 0
        if counted:
            _map_large_blocks()
        self._budget.used += counted - self._size
        self._size = counted


@cache
def _map_large_blocks() -> None:
    """Make large pieces of memory return to the system as soon as they are freed, if the C library is glibc.

    It would raise the size from which it does so by itself, to 32 MiB, and keep the memory of uploads for later ones.
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # other C libraries; Windows has no CDLL(None)
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _OWN_BLOCK_BYTES)


_budget = BodyBudget()
"""The one of this process."""


async def read_body(
    request: Request, choose: Callable[[], BodyReader], deadline: float, held: ExitStack, budget: BodyBudget = _budget
) -> Body:
    """Read a body with the reader that `choose` makes. If the body is refused, read and drop its rest before raising.

    Args:
        request: The request.
        choose: Makes the reader.
        deadline: When the body must be complete, on the event loop's clock, in seconds.
        held: Closed when the body is not needed any more; until then it counts in the budget.
        budget: The budget.

    Raises:
        BadRequest, TooLarge: from the reader, or from `choose`.
        TooSlowBody: the body arrives too slowly.
        Overloaded: there is no room for it.
    """
    share = _Share(budget)
    held.callback(share.count, 0)
    chunks = _chunks(request, deadline)
    try:
        return await _read(chunks, choose, share, _declared_size(request))
    except SwitchboardError as error:
        without_frames(error)
        share.count(0)
        await _discard(chunks)
        raise


async def _read(
    chunks: AsyncGenerator[bytes], choose: Callable[[], BodyReader], share: _Share, declared_size: int
) -> Body:
    reader = choose()
    share.check(declared_size)
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        reader.feed(chunk)
        share.count(size)
    return reader.finish()


def _declared_size(request: Request) -> int:
    text = request.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdecimal() else 0


async def _chunks(request: Request, deadline: float) -> AsyncGenerator[bytes]:
    """Yield the body as it arrives; raise TooSlowBody if the rest is too late.

    A chunk pays for as much time as it may take at the least rate, but a fast start pays for no long pause later.
    """
    now = asyncio.get_running_loop().time
    limit = now() + MAX_PAUSE_SECONDS
    with ReusableTimeout() as waits:
        while True:
            try:
                message = await waits.until(min(limit, deadline), request.receive())
            except TimeoutError:
                raise TooSlowBody("The body of the request arrives too slowly. Send it again, or less.") from None
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk: bytes = message.get("body", b"")
            if chunk:
                yield chunk
            if not message.get("more_body", False):
                return
            limit = min(limit + len(chunk) / MIN_BYTES_PER_SECOND, now() + MAX_PAUSE_SECONDS)


async def _discard(chunks: AsyncGenerator[bytes]) -> None:
    """Read and drop the rest, within limits: a client may miss the response if the connection closes while it sends."""
    count = 0
    with suppress(TimeoutError, TooSlowBody):
        async with asyncio.timeout(DISCARD_TIMEOUT_SECONDS):
            async for chunk in chunks:
                count += len(chunk)
                if count > DISCARD_LIMIT:
                    break


MOST_WAIT_SECONDS = 60
"""The longest `wait` that is kept; longer ones wait so long. Gateways give up between 100 and 230 seconds."""
_LONGEST_HEADER = 1024
"""Characters of `Prefer` that are read."""


class Preferences(msgspec.Struct, frozen=True):
    """What a request prefers."""

    respond_async: bool = False
    """Whether it may be answered with 202 and a place to ask later."""
    wait: int | None = None
    """Seconds that it waits for the answer before that; None: not told."""

    @property
    def applied(self) -> str:
        """`Preference-Applied` of a response that follows them."""
        return "respond-async" if self.wait is None else f"respond-async, wait={self.wait}"


def read_preferences(values: Sequence[str]) -> Preferences:
    """Read the `Prefer` headers of a request.

    What is unknown or malformed is ignored, and of a preference that is there twice the first counts (RFC 7240, 2).

    Args:
        values: The values of all headers of this name, in order.
    """
    found: dict[str, str] = {}
    for part in parse_list_header(",".join(values)[:_LONGEST_HEADER]):
        name, _, value = part.partition(";")[0].partition("=")
        found.setdefault(name.strip().lower(), value.strip().strip('"'))
    wait = found.get("wait", "")
    seconds = min(int(wait), MOST_WAIT_SECONDS) if re.fullmatch("[0-9]{1,9}", wait) else None
    return Preferences(found.get("respond-async") == "", seconds)
