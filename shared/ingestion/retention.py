"""Deletes what people left here when it is old: their documents by `USER_UPLOADS_DAYS`, chats by `HISTORY_DAYS`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from shared.documents import DocumentReader, StoredDocument
from shared.documents.own import PEOPLE
from shared.errors import SwitchboardError
from shared.ingestion.changes import delete
from shared.ingestion.document import Target
from shared.runtime.late_imports import Late

_log = logging.getLogger("switchboard.documents")


async def _an_hour() -> None:
    await asyncio.sleep(60 * 60)


type Deletion = Callable[[datetime], Awaitable[None]]
"""Deletes what is of before a time."""


async def delete_from_now_on(
    deletions: Iterable[tuple[int, Deletion]], next_time: Callable[[], Awaitable[None]] = _an_hour
) -> NoReturn:
    """Delete what is old now and once an hour, as long as the process lives. What fails is tried again.

    Args:
        deletions: What deletes each kind, with the days for which it is kept.
        next_time: Waits until it is time again.
    """
    deletions = [*deletions]
    while True:
        for days, delete_kind in deletions:
            try:
                await delete_kind(datetime.now(UTC) - timedelta(days=days))
            except Exception as error:  # noqa: BLE001 (the next time may do)
                _warn(error)
        await next_time()


async def delete_documents(
    documents: Late[DocumentReader], target: Callable[[], Awaitable[Target]], before: datetime
) -> None:
    """Delete the documents that people have added before a time. What came in their place meanwhile stays.

    A document that cannot be deleted now is left for the next time.

    Args:
        documents: Where they are.
        target: Opens what they are deleted from, if there are such documents.
        before: The time.

    Raises:
        SwitchboardError: the documents cannot be listed now, or nothing can be deleted.
    """
    old: list[StoredDocument] = []
    store = await documents.get()
    async with aclosing(store.find_all(PEOPLE)) as found:
        async for document in found:
            if not document.name.startswith(PEOPLE):
                break
            if document.last_modified < before:
                old.append(document)
    for document in old:
        opened = await target()
        try:
            await delete(document.name, document, opened)
        except Exception as error:  # noqa: BLE001 (it must not keep the others)
            _warn(error)


def _warn(error: Exception) -> None:
    reason = error.message if isinstance(error, SwitchboardError) else type(error).__name__
    _log.warning("old documents or chats of people are not deleted now: %s", reason)
