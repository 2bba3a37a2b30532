"""Does work in the background of the event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any

_working: set[asyncio.Task[Any]] = set()
"""What goes on; the event loop itself would forget it."""


def in_background[Result](work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Do something, also when nobody waits for it any more."""
    task = asyncio.create_task(work)
    _working.add(task)
    task.add_done_callback(_working.discard)
    return task
