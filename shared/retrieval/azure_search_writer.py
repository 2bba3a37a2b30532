"""Writes documents to an index of Azure AI Search, in batches. Imports `azure.search.documents`: import it late.

Source: Search Service REST API 2026-04-01, 'Documents - Index'; 'Service limits in Azure AI Search'.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from azure.search.documents.aio import SearchClient
from azure.search.documents.models import IndexAction, IndexDocumentsBatch, IndexingResult

from shared.chat_types import Json
from shared.errors import Unavailable
from shared.retrieval.azure_search_connection import SearchConnection
from shared.retrieval.azure_search_faults import MAY_PASS, WRITE, reason_of

_log = logging.getLogger("switchboard.retrieval")

type Document = dict[str, Json]
"""Fields by name."""

_TRIES = 5
"""How often a document is sent whose batch was taken without it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the service takes at once."""

    actions: int = 1_000
    """Documents of a batch."""
    batch_bytes: int = 2_000_000
    """Of a batch, as JSON. The service takes 16 MB; to make so much at once would hold everything else up."""
    page: int = 1_000
    """Documents of a page."""
    window: int = 100_000
    """Documents that can be paged over."""


class DocumentWriter:
    """Uploads and deletes.

    Args:
        connection: To the service.
        bounds: What the service takes at once.
        seconds: For one request, its retries included.
    """

    def __init__(self, connection: SearchConnection, bounds: Bounds, seconds: float) -> None:
        self._connection = connection
        self._bounds = bounds
        self._seconds = seconds

    async def upload(self, documents: Iterable[Document]) -> None:
        """Put documents in place of those with their keys, in order.

        Raises:
            NotConfigured: the service refuses us.
            Unavailable, RateLimited, TooSlow: not all were taken.
        """
        for batch in self._batches(documents):
            await self._write(batch, delete=False)

    async def delete(self, documents: Iterable[Document]) -> None:
        """Remove the documents with these keys; there is no need that they exist. Raises as `upload`."""
        for batch in self._batches(documents):
            await self._write(batch, delete=True)

    def _batches(self, documents: Iterable[Document]) -> Iterator[list[Document]]:
        batch: list[Document] = []
        size = 0
        for document in documents:
            more = len(json.dumps(document)) + len('{"@search.action": "upload"}, ')
            if batch and (len(batch) >= self._bounds.actions or size + more > self._bounds.batch_bytes):
                yield batch
                batch, size = [], 0
            batch.append(document)
            size += more
        if batch:
            yield batch

    async def _write(self, documents: list[Document], *, delete: bool) -> None:
        """Write a batch, and again what the service did not take of it, as long as that may help."""
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(self._connection.patience.first_backoff * 2**attempt)
            results = await self._send(documents, delete=delete)
            refused = [place for place, result in enumerate(results) if not result.succeeded]
            if not refused:
                return
            statuses = {results[place].status_code for place in refused}
            _log.warning("%s documents of %s were not taken: %s", len(refused), len(documents), sorted(statuses))
            if not all(reason_of(status) in MAY_PASS for status in statuses):
                break
            documents = [documents[place] for place in refused]
        raise Unavailable(
            "Azure AI Search did not take all passages of the file. Run it again; if it stays, check the storage of "
            "the service, and the fields of AZURE_SEARCH_INDEX."
        )

    async def _send(self, documents: list[Document], *, delete: bool) -> list[IndexingResult]:
        kind = "delete" if delete else "upload"
        batch = IndexDocumentsBatch(actions=[IndexAction({"@search.action": kind, **one}) for one in documents])

        async def send(client: SearchClient) -> list[IndexingResult]:
            results = await client.index_documents(batch)
            if len(results) != len(documents):
                raise ValueError("not a result for each document")
            return results

        deadline = asyncio.get_running_loop().time() + self._seconds
        return await self._connection.ask(send, deadline=deadline, right=WRITE)
