"""A request's body as it comes in: read by what fits it, and refused as soon as something is wrong."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from shared.errors import SwitchboardError
from shared.wire.json_body import Body, JsonReader
from shared.wire.multipart import FormReader, is_form
from shared.wire.protocol import Protocol
from shared.wire.table import taking_files

DISCARD_LIMIT = 64 * 1024 * 1024
"""Bytes of a refused body that are still read, and dropped, before the answer."""
DISCARD_SECONDS = 10.0
"""How long that may take."""


def chat_reader(content_type: str, known: Protocol | None) -> JsonReader | FormReader:
    """What reads a chat request: as a form if it is one and the protocol takes files.

    Args:
        content_type: The request's header.
        known: The protocol, if the body is not what tells it.

    Raises:
        BadRequest: it is a form, and the protocol takes none or the header does not say enough.
    """
    if not is_form(content_type):
        return JsonReader()
    taking_files(known)
    return FormReader(content_type)


async def read_body(received: AsyncGenerator[bytes], choose: Callable[[], JsonReader | FormReader]) -> Body:
    """Read a body with the reader that is chosen.

    Raises:
        BadRequest, TooLarge: what the reader has to say.
    """
    try:
        reader = choose()
        async for chunk in received:
            reader.feed(chunk)
        return reader.finish()
    except SwitchboardError:
        await _discard(received)
        raise


async def _discard(received: AsyncGenerator[bytes]) -> None:
    """Let the rest come, within bounds: a caller whose connection closes amid sending may never see the answer."""
    count = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in received:
                count += len(chunk)
                if count > DISCARD_LIMIT:
                    break
