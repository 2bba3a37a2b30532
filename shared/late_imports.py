"""Late imports: they take long, so they run in a thread, one at a time.

When one thread imports a package and another a module in that package, each can wait for the other's import lock.
Python detects such a deadlock and lets one of the imports fail, so two never run at the same time here.
"""

import asyncio
import threading
from collections.abc import Callable

_importing = threading.Lock()


async def run_import[**P, T](work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function that imports modules in a thread, and return its result."""

    def run_alone() -> T:
        with _importing:
            return work(*arguments, **named)

    return await asyncio.to_thread(run_alone)
