"""Sends answers to requests of a queue into another one, and lets requests come again whose host has died.

Imports `azure.storage.queue`: import this module late.
"""

import re
import time
from contextlib import suppress
from functools import partial
from secrets import token_hex

import msgspec
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from shared.errors import InternalError, SwitchboardError
from shared.outbound.azure_service.storage import OWN, close_client, made_when_missing, storage_errors
from shared.runs import NEW, ObjectStore
from shared.runs.claim import read_state

MAX_MESSAGE_BYTES = 48 * 1024
"""The largest answer inside a message; the queue takes 64 KiB, which are 48 KiB for those who encode in base64."""

_NO_XML = re.compile("[\ufffe\uffff]")
"""Characters that JSON allows in a text and the XML of the queue's protocol does not (XML 1.0, 2.2 Characters)."""


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a request: what the message in the queue holds."""

    id: str
    """The request's own id; of one that has none, the id of its message."""
    status: int
    """HTTP status."""
    body: msgspec.Raw = msgspec.Raw()
    """JSON: the answer, or the error; without one, it is in the blob."""
    blob: str = ""
    """Name of the blob with the body, in the container that has the queue's name."""


class AnswerQueue:
    """The queue of answers, and a container of the same name for those that are too large for it.

    Both are made when they are first needed.

    Args:
        queue: Client of the queue.
        container: Client of the container.
        requests: Client of the queue of requests.
        store: Keeps the runs of requests, and what lets those that are worked on come again, as `messages/{run id}/…`:
            the host of a process that has died does not show them for ten minutes.
    """

    def __init__(
        self, queue: QueueClient, container: ContainerClient, requests: QueueClient, store: ObjectStore
    ) -> None:
        self._requests = requests
        self._store = store
        self._queue = queue
        self._container = container

    async def send(self, reply: Reply, run_id: str) -> None:
        """Send the answer of a run."""
        message = _encoded(reply)
        if len(message) > MAX_MESSAGE_BYTES:
            blob = f"{run_id}.json"
            await self._upload(blob, bytes(reply.body))
            message = _encoded(Reply(reply.id, reply.status, blob=blob))
        await self._send(message.decode())

    async def take(self, run_id: str, message_id: str, receipt: str) -> str:
        """Keep what lets a request come again whose run begins; return its name."""
        name = f"messages/{run_id}/{token_hex(4)}"
        await self._store.write(name, f"{message_id} {receipt}".encode(), NEW)
        return name

    async def done(self, name: str) -> None:
        """Delete what lets a request come again: it is answered."""
        with suppress(SwitchboardError):  # the next sweep does
            await self._store.delete(name)

    async def sweep(self) -> None:
        """Let each request come again now whose run has lost its runner, or has ended and is not answered."""
        for name in [name async for name in self._store.names("messages/")]:
            state = None
            with suppress(InternalError):  # one that cannot be read must not keep the others
                state = await read_state(self._store, name.split("/")[1])
            if state and state.is_stale(time.time()) and (found := await self._store.read(name)):
                message_id, receipt = found.data.decode().split(" ")
                with suppress(SwitchboardError), storage_errors(OWN):  # it is answered, or has come again by itself
                    await self._requests.update_message(message_id, receipt, visibility_timeout=0)
                await self.done(name)

    async def _send(self, message: str) -> None:
        with storage_errors(OWN):
            await made_when_missing(lambda: self._queue.send_message(message), self._queue.create_queue)

    async def _upload(self, name: str, body: bytes) -> None:
        upload = partial(self._container.upload_blob, name, body, overwrite=True)
        with storage_errors(OWN):
            await made_when_missing(upload, self._container.create_container)

    async def aclose(self) -> None:
        """Close the connections."""
        await close_client(self._queue)
        await close_client(self._container)


def _encoded(reply: Reply) -> bytes:
    text = msgspec.json.encode(reply).decode()
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
