"""Writes documents to an index of Azure AI Search, in batches. Imports `azure.core`: import it late.

The requests are encoded here: building the SDK's models from vectors takes ten times as long and blocks the event loop.

Source: Search Service REST API 2026-04-01, 'Documents - Index'; 'Service limits in Azure AI Search'.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
from azure.core.rest import HttpRequest
from azure.search.documents.aio import SearchClient

from shared.chat_types import Json
from shared.errors import Unavailable
from shared.outbound.faults import RETRIED, reason_of_status
from shared.retrieval.azure_search.connection import WRITE, SearchConnection

_log = logging.getLogger("switchboard.retrieval")

_API_VERSION = "2026-04-01"
_TRIES = 5
"""How often a document is sent that the service refused while it accepted others of the same batch."""

type Document = dict[str, Json]
"""Values of a document by field name."""
type Action = Literal["upload", "delete"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the service for one request."""

    actions: int = 1_000
    """Documents in a batch."""
    batch_bytes: int = 1_000_000
    """Bytes of a batch. The service accepts 16 MB, but sending more than 1 MiB at once delays other work."""
    page: int = 1_000
    """Documents in a page of results."""
    window: int = 100_000
    """Documents that paging can reach."""


class _Result(msgspec.Struct):
    key: str
    status: bool
    status_code: int = msgspec.field(name="statusCode")


class _Results(msgspec.Struct):
    value: list[_Result]


_decoder = msgspec.json.Decoder(_Results)
_encoder = msgspec.json.Encoder()


class DocumentWriter:
    """Uploads and deletes documents.

    Args:
        connection: Connection to the service.
        key: Name of the index's key field.
        bounds: Limits of the service for one request.
        seconds: Time limit of one request, retries included.
    """

    def __init__(self, connection: SearchConnection, key: str, bounds: Bounds, seconds: float) -> None:
        self._connection = connection
        self._key = key
        self._bounds = bounds
        self._seconds = seconds

    async def write(self, action: Action, documents: Iterable[Document]) -> None:
        """Upload documents in their order, replacing those with the same keys, or delete them; they need not exist.

        Raises:
            NotConfigured: the service refuses the app.
            Unavailable, RateLimited, TooSlow: not all documents were written.
        """
        batches = self._batches(action, documents)
        while batch := await asyncio.to_thread(next, batches, None):
            await self._write(batch)

    def _batches(self, action: Action, documents: Iterable[Document]) -> Iterator[dict[str, bytes]]:
        """Encode the documents in batches, each document by its key."""
        batch: dict[str, bytes] = {}
        size = 0
        for document in documents:
            encoded = _encoder.encode({"@search.action": action, **document})
            if batch and (len(batch) >= self._bounds.actions or size + len(encoded) > self._bounds.batch_bytes):
                yield batch
                batch, size = {}, 0
            batch[str(document[self._key])] = encoded
            size += len(encoded)
        if batch:
            yield batch

    async def _write(self, batch: Mapping[str, bytes]) -> None:
        """Write a batch, and send what the service refused again as long as a retry may help."""
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(self._connection.policy.first_backoff * 2**attempt)
            results = await self._send(batch)
            refused = {result.key: result.status_code for result in results if not result.status}
            if not refused:
                return
            _log.warning("%s documents of %s were not taken: %s", len(refused), len(batch), {*refused.values()})
            if not all(reason_of_status(status) in RETRIED for status in refused.values()):
                break
            batch = {key: batch[key] for key in refused}
        raise Unavailable(
            "Azure AI Search did not take all passages of the file. Run it again; if it stays, check the storage of "
            "the service, and the fields of AZURE_SEARCH_INDEX."
        )

    async def _send(self, batch: Mapping[str, bytes]) -> list[_Result]:
        request = HttpRequest(
            "POST",
            f"{{endpoint}}/indexes('{self._connection.index}')/docs/search.index",
            params={"api-version": _API_VERSION},
            headers={"Content-Type": "application/json", "Accept": "application/json;odata.metadata=none"},
            content=b'{"value":[' + b",".join(batch.values()) + b"]}",
        )

        async def send(client: SearchClient) -> list[_Result]:
            response = await client.send_request(request)
            response.raise_for_status()
            return _read(response.content, batch.keys())

        deadline = asyncio.get_running_loop().time() + self._seconds
        return await self._connection.ask(send, deadline=deadline, right=WRITE)


def _read(content: bytes, keys: Collection[str]) -> list[_Result]:
    """Read the results, one for each document; raise ValueError if one is missing, or the answer is malformed."""
    try:
        results = _decoder.decode(content).value
    except msgspec.DecodeError as exc:
        raise ValueError("no results") from exc
    if {result.key for result in results} != set(keys):
        raise ValueError("not a result for each document")
    return results
