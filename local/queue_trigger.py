"""Queue triggers: messages become invocations, as the Functions host does it.

A message that is being worked on is invisible to others. It is deleted when the function has succeeded, comes again
when it has failed, and goes to the queue `…-poison` after `maxDequeueCount` tries.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import NoReturn
from uuid import uuid4

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from local.invocation import Call, Function, succeeds
from local.settings_file import TriggerOptions
from local.storage import keep_polling

LEASE_SECONDS = 600
"""How long a message is invisible if the host dies with it; while it lives it renews that."""
_CHANGED = ("PopReceiptMismatch", "MessageNotFound")
"""Error codes of a message that the function or somebody else has changed or deleted: the host leaves it alone."""

_log = logging.getLogger(__name__)


class QueueTrigger:
    """Works on one function's queue.

    Args:
        function: has a `queueTrigger`.
        queue: its queue.
        poison: where messages go that are given up; made when the first one does.
        invoke: starts an invocation in the worker, and tells whether it succeeded.
        options: of `host.json`.
    """

    def __init__(
        self,
        function: Function,
        queue: QueueClient,
        poison: QueueClient,
        invoke: Callable[[Call], Future[bool]],
        options: TriggerOptions,
    ) -> None:
        self._function = function
        self._queue = queue
        self._poison = poison
        self._invoke = invoke
        self._options = options
        self._running = 0

    async def run(self) -> NoReturn:
        """Work until cancelled; then return the unfinished messages to the queue."""
        async with asyncio.TaskGroup() as group:
            await keep_polling(lambda: self._poll(group), f"queue {self._queue.queue_name}")

    async def _poll(self, group: asyncio.TaskGroup) -> bool:
        room = self._options.batch_size - self._running
        if room <= 0:
            return True  # and soon there is room
        page = None
        with suppress(ResourceNotFoundError):  # nobody has made the queue yet
            # One page: iterating over the messages themselves asks once more after the last of them.
            pages = self._queue.receive_messages(messages_per_page=room, visibility_timeout=LEASE_SECONDS).by_page()
            page = await anext(pages, None)
        if page is None:
            return False
        async for message in page:
            self._running += 1
            group.create_task(self._take(message))
        return True

    async def _take(self, message: QueueMessage) -> None:
        try:
            await self._work_on(message)
        except AzureError as exc:
            if getattr(exc, "error_code", None) not in _CHANGED:
                _log.warning("%s: message %s comes again (%s)", self._function.name, message.id, type(exc).__name__)
        finally:
            self._running -= 1

    async def _work_on(self, message: QueueMessage) -> None:
        tries = message.dequeue_count or 1
        try:
            data = _decode(message.content) if self._options.base64 else str(message.content)
        except ValueError:
            await self._give_up(message, "it is not encoded in base64")
            return
        if tries > self._options.max_dequeue_count:  # the host ended each time in the middle of it
            await self._give_up(message, f"it was tried {tries - 1} times")
        elif await self._succeeds(message, data):
            await self._queue.delete_message(message)
        elif tries == self._options.max_dequeue_count:
            await self._give_up(message, f"it was tried {tries} times")
        else:
            await self._give_back(message, self._options.visibility_timeout)

    async def _succeeds(self, message: QueueMessage, data: str | bytes) -> bool:
        call = Call(str(uuid4()), self._function, data, _metadata(message))
        try:
            async with self._leased(message):
                return await succeeds(call, self._invoke)
        except asyncio.CancelledError:
            with suppress(AzureError):
                await self._give_back(message, 0)
            raise

    @asynccontextmanager
    async def _leased(self, message: QueueMessage) -> AsyncGenerator[None]:
        """Keep a message invisible."""
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renew(message, done))
        try:
            yield
        finally:
            # Not cancelled: what is on its way changes the receipt, without which the message cannot be deleted.
            done.set()
            await asyncio.wait({renewing})

    async def _renew(self, message: QueueMessage, done: asyncio.Event) -> None:
        while not done.is_set():
            try:
                await asyncio.wait_for(done.wait(), LEASE_SECONDS / 2)
            except TimeoutError:
                with suppress(AzureError):
                    await self._give_back(message, LEASE_SECONDS)

    async def _give_back(self, message: QueueMessage, seconds: int) -> None:
        """Let a message be seen after so many seconds."""
        updated = await self._queue.update_message(message.id, message.pop_receipt, visibility_timeout=seconds)
        message.pop_receipt = updated.pop_receipt

    async def _give_up(self, message: QueueMessage, why: str) -> None:
        with suppress(ResourceExistsError):
            await self._poison.create_queue()
        await self._poison.send_message(message.content)
        await self._queue.delete_message(message)
        _log.error("%s: message %s went to queue %s: %s", self._function.name, message.id, self._poison.queue_name, why)


def _decode(content: str) -> str | bytes:
    """A message's text; its bytes where it has none.

    Raises:
        ValueError: it is not encoded in base64.
    """
    data = b64decode(content, validate=True)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _metadata(message: QueueMessage) -> dict[str, object]:
    times = {
        "ExpirationTime": message.expires_on,
        "InsertionTime": message.inserted_on,
        "NextVisibleTime": message.next_visible_on,
    }
    return {
        "Id": message.id,
        "DequeueCount": message.dequeue_count,
        "PopReceipt": message.pop_receipt,
        **{name: moment.isoformat() for name, moment in times.items() if moment},
    }
