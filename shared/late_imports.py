"""What imports much, and late: in a thread, as it takes long, and one at a time.

Of two threads, of which one imports a package and the other a module in it, each may come to wait for the other: Python
notices, and has one of them fail.
"""

import asyncio
import threading
from collections.abc import Callable

_importing = threading.Lock()


async def run_import[**P, T](work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Do work that imports, and return its result."""

    def alone() -> T:
        with _importing:
            return work(*arguments, **named)

    return await asyncio.to_thread(alone)
