"""Asks a storage account again and again, whatever it answers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from azure.core.exceptions import AzureError

SHORTEST_WAIT = 0.1
LONGEST_WAIT = 1.0
"""Seconds between two polls: after something came, and after nothing came for a while."""

_log = logging.getLogger(__name__)


async def keep_polling(poll: Callable[[], Awaitable[bool]], what: str) -> NoReturn:
    """Poll until cancelled. That the storage cannot be used is said once, and so is that it can be used again.

    Args:
        poll: asks once, and tells whether there was something; may raise what the SDK raises.
        what: is polled, for the log.
    """
    down, wait = False, SHORTEST_WAIT
    while True:
        wait = min(2 * wait, LONGEST_WAIT)
        try:
            if await poll():
                wait = SHORTEST_WAIT
        except AzureError as exc:
            if not down:
                _log.warning("%s cannot be polled (%s); trying again until it can", what, type(exc).__name__)
            down = True
        else:
            if down:
                _log.warning("%s can be polled again", what)
            down = False
        await asyncio.sleep(wait)
