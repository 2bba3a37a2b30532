"""Sends answers to requests of a queue into another one. Imports `azure.storage.queue`: import this module late."""

import re
from functools import partial

import msgspec
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from shared.outbound.azure_service.storage import OWN, close_client, made_when_missing, storage_errors

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
    """

    def __init__(self, queue: QueueClient, container: ContainerClient) -> None:
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
