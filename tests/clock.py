"""The clock of an event loop that a test may put forward."""

import asyncio


class Clock:
    """The clock of the running loop.

    A test of what comes too late waits until everything that is to come in time is there, and then puts the clock
    forward: however slow the machine is, nothing else is late, and nobody waits.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._real = loop.time
        self._ahead = 0.0
        loop.time = self._time

    def forward(self, seconds: float) -> None:
        """Let so much time pass at once, for all that waits in this loop."""
        self._ahead += seconds

    def stop(self) -> None:
        """Let no time pass from now on but by `forward`."""
        now = self._real()
        self._real = lambda: now

    def _time(self) -> float:
        return self._real() + self._ahead
