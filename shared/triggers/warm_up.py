"""Loads modules and opens parts before the first request needs them: at the warm-up trigger or first health check.

Only the parts that the settings select are loaded. A failure ends the warm-up with a log entry; the request that needs
the part fails with the same error, and its status goes to the caller.
"""

import asyncio
import logging
import time
from importlib import import_module

from shared import app
from shared.errors import SwitchboardError
from shared.late_imports import run_import
from shared.triggers.content_events import finish_changes
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS

_log = logging.getLogger("switchboard.start")

_warming: asyncio.Task[None] | None = None


async def warm_up() -> None:
    """Build the service, open its parts, and import the modules that are otherwise imported at the first request."""
    started = time.monotonic()
    try:
        service = await app.get_service()
        await asyncio.gather(
            service.load(),
            service.check(),
            app.get_batches(),
            finish_changes(),
            run_import(list[Protocol], PROTOCOLS.values()),
            run_import(import_module, "shared.triggers.mcp_messages"),
        )
    except SwitchboardError as error:
        _log.warning("not warmed up: %s", error.message)
    except Exception as error:  # noqa: BLE001 (the request that needs the part reports the same failure)
        _log.warning("not warmed up: %s", type(error).__name__)
    else:
        _log.info("warmed up in %.0f ms", (time.monotonic() - started) * 1000)


def warm_up_soon() -> None:
    """Start to warm up in the background, once per process."""
    global _warming  # noqa: PLW0603 (the loop keeps only a weak reference to a task)
    if _warming is None:
        _warming = asyncio.create_task(warm_up())
