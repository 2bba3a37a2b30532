"""Holds requests of a queue while they are answered, and sends the answers into another one.

Imports `azure.storage.queue`: import this module late.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial

import msgspec
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from shared.errors import SwitchboardError
from shared.outbound.azure_service.storage import OWN, made_when_missing, storage_errors
from shared.runtime.host_file import pause_between_tries

MAX_MESSAGE_BYTES = 48 * 1024
"""The largest answer inside a message; the queue takes 64 KiB, which are 48 KiB for those who encode in base64."""
HELD_SECONDS = 60
"""After how long a request comes again whose process has died."""
_RENEWAL_SECONDS = 20

_NO_XML = re.compile("[\ufffe\uffff]")
"""Characters that JSON allows in a text and the XML of the queue's protocol does not (XML 1.0, 2.2 Characters)."""


class AnswerQueue:
    """The queue of answers, and a container of the same name for those that are too large for it.

    Both are made when they are first needed.

    Args:
        queue: Client of the queue.
        container: Client of the container.
        requests: Client of the queue of requests.
    """

    def __init__(self, queue: QueueClient, container: ContainerClient, requests: QueueClient) -> None:
        self._requests = requests
        self._queue = queue
        self._container = container

    async def send(self, named: str, status: int, body: bytes, run_id: str) -> None:
        """Send the answer of a run, or its error, to the request of this name; if it is large, in a blob."""
        message = _encoded(id=named, status=status, body=msgspec.Raw(body))
        with storage_errors(OWN):
            if len(message) > MAX_MESSAGE_BYTES:
                message = _encoded(id=named, status=status, blob=(blob := f"{run_id}.json"))
                upload = partial(self._container.upload_blob, blob, body, overwrite=True)
                await made_when_missing(upload, self._container.create_container)
            await made_when_missing(lambda: self._queue.send_message(message.decode()), self._queue.create_queue)

    @asynccontextmanager
    async def held(self, message_id: str, receipt: str) -> AsyncGenerator[None]:
        """Hold a request while it is answered, and delete it then; one that fails comes again as `host.json` says.

        The Functions host would hold it for ten minutes after the end of this process. It leaves a message alone whose
        receipt has changed.

        Raises:
            Unavailable, TooSlow: it cannot be held now.
        """
        request, ended, pause = QueueMessage(id=message_id, pop_receipt=receipt), asyncio.Event(), 0
        await self._show_in(request, HELD_SECONDS)
        renewing = asyncio.create_task(self._renew(request, ended))
        try:
            yield
            pause = None
        except SwitchboardError:
            pause = pause_between_tries()
            raise
        finally:
            ended.set()
            await asyncio.wait({renewing})
            with suppress(SwitchboardError), storage_errors(OWN):  # else it comes again soon, and gets the same answer
                await (self._requests.delete_message(request) if pause is None else self._show_in(request, pause))

    async def _renew(self, request: QueueMessage, ended: asyncio.Event) -> None:
        while not ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _RENEWAL_SECONDS)
                return
            with suppress(SwitchboardError):  # the next renewal may do
                await self._show_in(request, HELD_SECONDS)

    async def _show_in(self, request: QueueMessage, seconds: int) -> None:
        """Let a request come again after so many seconds."""
        with storage_errors(OWN):
            changed = await self._requests.update_message(request.id, request.pop_receipt, visibility_timeout=seconds)
        request.pop_receipt = changed.pop_receipt


def _encoded(**reply: object) -> bytes:
    text = msgspec.json.encode(reply).decode()
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
