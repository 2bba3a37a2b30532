"""Loads what the first request needs before it comes: for the warm-up trigger and at the first health check.

Only what the settings chose is loaded. A fault ends the warm-up with a log entry and changes nothing else: it comes
back at the request that it concerns, with its own status.
"""

import asyncio
import logging
import time

from shared import app
from shared.errors import SwitchboardError

_log = logging.getLogger("switchboard.start")

_warming: asyncio.Task[None] | None = None


async def warm_up() -> None:
    """Build the service, open its parts, and import what requests import late."""
    started = time.monotonic()
    try:
        service = await app.get_service()
        await asyncio.gather(service.load(), service.check())
    except SwitchboardError as error:
        _log.warning("not warmed up: %s", error.message)
    except Exception as error:  # noqa: BLE001 (nobody waits for this; a request meets the same fault and answers it)
        _log.warning("not warmed up: %s", type(error).__name__)
    else:
        _log.info("warmed up in %.0f ms", (time.monotonic() - started) * 1000)


def warm_up_soon() -> None:
    """Begin to warm up, once in the life of the process; whoever calls does not wait for it."""
    global _warming  # noqa: PLW0603 (the loop keeps only a weak reference to a task)
    if _warming is None:
        _warming = asyncio.create_task(warm_up())
