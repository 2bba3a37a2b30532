"""Warm-up: loads what the first request needs, at the warm-up trigger and the first health check.

Only the parts that the settings select are loaded. A failure ends the warm-up with a log entry; the request that needs
the part meets it again, and answers with its status.
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
    except Exception as error:  # noqa: BLE001 (a request meets the same failure and answers with it)
        _log.warning("not warmed up: %s", type(error).__name__)
    else:
        _log.info("warmed up in %.0f ms", (time.monotonic() - started) * 1000)


def warm_up_soon() -> None:
    """Start to warm up in the background, once per process."""
    global _warming  # noqa: PLW0603 (the loop keeps only a weak reference to a task)
    if _warming is None:
        _warming = asyncio.create_task(warm_up())
