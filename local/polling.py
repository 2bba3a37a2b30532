"""Asks a storage account again and again, whatever it answers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from azure.core.exceptions import AzureError

POLL_SECONDS = 0.5

_log = logging.getLogger(__name__)


async def keep_polling(poll: Callable[[], Awaitable[None]], what: str) -> NoReturn:
    """Poll until cancelled. That the storage cannot be used is said once, and so is that it can be used again.

    Args:
        poll: asks once; may raise what the SDK raises.
        what: is polled, for the log.
    """
    down = False
    while True:
        try:
            await poll()
        except AzureError as exc:
            if not down:
                _log.warning("%s cannot be polled (%s); trying again until it can", what, type(exc).__name__)
            down = True
        else:
            if down:
                _log.warning("%s can be polled again", what)
            down = False
        await asyncio.sleep(POLL_SECONDS)
