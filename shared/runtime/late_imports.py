"""Late imports: they take long, so they run in a thread, one at a time.

When one thread imports a package and another a module in that package, each can wait for the other's import lock.
Python detects such a deadlock and lets one of the imports fail, so two never run at the same time here.
"""

import asyncio
import threading
from collections.abc import Callable

_importing = threading.Lock()


class Late[T]:
    """Something that is made when it is first needed, once; if that fails, the next call tries again.

    Args:
        make: Imports modules, so it is called in a thread.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making = asyncio.Lock()
        self.made: T | None = None
        """It; None: it has not been needed yet."""

    async def get(self) -> T:
        """Return it."""
        async with self._making:
            if self.made is None:
                self.made = await run_import(self._make)
            return self.made


async def run_import[**P, T](work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run a function that imports modules in a thread, and return its result."""

    def run_alone() -> T:
        with _importing:
            return work(*arguments, **named)

    return await asyncio.to_thread(run_alone)
