"""Runs runs by a queue of the app's own storage account. Imports `azure.storage.queue`: import this module late.

A message holds the id of a run and nothing else. The queue trigger of `function_app.py` takes it, at whatever
instance, so that scale-out, redelivery and poison messages are the platform's.
"""

import time
from collections import Counter
from contextlib import suppress
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueClient

from shared.outbound.azure_service.storage import OWN, close_client, made_when_missing, open_client, storage_errors
from shared.runs.in_process import InProcess
from shared.runs.records import State
from shared.settings import Settings

_OPTIONS: dict[str, Any] = {
    "connection_timeout": 5,
    "read_timeout": 10,
    "retry_total": 2,
    "initial_backoff": 0,
    "increment_base": 1,
    "random_jitter_range": 1,
}
"""Timeouts, and retries with the pauses between them, in seconds: somebody waits for the 202."""


def open_queue(settings: Settings, name: str) -> QueueClient:
    """Open a queue of the app's own storage account.

    Raises:
        NotConfigured: the connection string is none.
    """
    connection = settings.azure_web_jobs_storage
    address = None if connection else settings.azure_web_jobs_storage_queues
    return open_client(QueueClient, connection, address, name, **_OPTIONS)


_HELD = 2
"""Invocations of the trigger that one caller's runs hold, so that Azure knows of them: one less than `host.json` lets
an instance have. Others go on behind theirs."""
_SHORTEST_WAIT, _LONGEST_WAIT = 2, 30
"""After how many seconds the message of a run comes again whose caller had no room here; it grows with its age."""


class QueueEngine:
    """An `Engine` by a queue, which is made when the first message is sent.

    A run begins in this process if there is room, since an idle queue is looked into only now and then. It has a
    message only if there is none. If this process dies, a sweep finds the run.

    Args:
        settings: Name the account and the queue.
        here: Runs runs in this process.

    Raises:
        NotConfigured: the connection string is none.
    """

    def __init__(self, settings: Settings, here: InProcess) -> None:
        self._queue = open_queue(settings, settings.batch_queue)
        self._here = here
        self.has = here.has
        self._held = Counter[str]()
        self._sent = dict[str, float]()

    async def start(self, run_id: str, state: State) -> None:
        """Begin a run here if there is room; else put it into the queue."""
        if self._here.has_room(state):
            await self._here.start(run_id, state)
        else:
            await self._send(run_id, 0)

    async def take(self, run_id: str, state: State) -> None:
        """Run a run to its end, unless its caller has enough here: then its message comes again."""
        if self._here.has_room(state):
            await self._begun(run_id, state)
        elif not self._here.has(run_id):
            age = (time.time() - state.created) / 8
            await self._send(run_id, round(min(max(age, _SHORTEST_WAIT), _LONGEST_WAIT)))

    async def _begun(self, run_id: str, state: State) -> None:
        if self._held[state.owner] >= _HELD:
            await self._here.start(run_id, state)
            return
        self._held[state.owner] += 1
        try:
            await self._here.take(run_id, state)
        finally:
            self._held[state.owner] -= 1
            self._held += Counter()  # forget callers without any

    async def _send(self, run_id: str, seconds: int) -> None:
        """Send the message of a run, which comes after so many seconds, unless one sent here is on its way."""
        now = time.monotonic()
        if self._sent.get(run_id, 0) > now:
            return
        self._sent = {one: until for one, until in self._sent.items() if until > now} | {run_id: now + seconds}
        with storage_errors(OWN):
            await made_when_missing(
                lambda: self._queue.send_message(run_id, visibility_timeout=seconds), self._queue.create_queue
            )

    async def check(self) -> None:
        """Ask for the queue, which the first message makes."""
        with storage_errors(OWN), suppress(ResourceNotFoundError):
            await self._queue.get_queue_properties()

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._queue)
