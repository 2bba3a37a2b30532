"""Reads answers of HTTP services as they are sent: bounded, and never unpacked. Imports aiohttp: import it late."""

from collections.abc import AsyncGenerator

import aiohttp

from shared.outbound.faults import Fault, Reason, ServiceFault

LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes of an answer, unless whoever reads it says otherwise."""


async def pieces(response: aiohttp.ClientResponse, largest: int = LARGEST_ANSWER) -> AsyncGenerator[bytes]:
    """Yield an answer's body as it comes.

    Raises:
        ServiceFault: it is too long, or compressed although that was not asked for: a small body can unpack to any
            size.
    """
    is_compressed = response.headers.get("Content-Encoding", "").lower() not in {"", "identity"}
    size = response.content_length or 0
    if is_compressed or size > largest:
        response.close()
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status))
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > largest:
            response.close()
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status))
        yield piece


async def body_of(response: aiohttp.ClientResponse, largest: int = LARGEST_ANSWER) -> bytes:
    """Read an answer's whole body.

    Raises:
        ServiceFault: as by `pieces`.
    """
    body = bytearray()
    async for piece in pieces(response, largest):
        body += piece
    return bytes(body)
