"""Handlers of the triggers of the document container: index uploaded documents, remove deleted ones from the index.

A timer's comparison of the container with the index repairs what events have missed.

An event only names a blob; the blob's state is read when the event is handled, so events may arrive twice, late and in
any order. Temporary failures and messages that are not events are raised, so that the platform tries again and finally
moves the message to the poison queue.
"""

import asyncio
import hashlib
import json
import logging
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from shared import app
from shared.chat_types import Json
from shared.documents import PENDING
from shared.errors import BadRequest, SwitchboardError
from shared.runtime.host_file import function_timeout

if TYPE_CHECKING:
    from shared.ingestion import FileReport
    from shared.ingestion.document import Target

_TYPES = ("Microsoft.Storage.BlobCreated", "Microsoft.Storage.BlobDeleted")
_SUBJECT = re.compile(r"/blobServices/default/containers/([^/]+)/blobs/(.+)", re.DOTALL)
_HASH_DIGITS = 12
"""Hexadecimal digits of a document's label in the log."""

SYNC_SCHEDULE = "0 30 2 * * *"
"""When a watched container is compared with the index: at 2:30 UTC each day. A folder is at the next start."""
_SPARE_SECONDS = 60
"""Time between our own limit of a sync and the platform's, which would end the process and all that runs in it."""

_log = logging.getLogger("switchboard.content")


async def handle_events(message: bytes) -> None:
    """Index the documents named by the events of a queue message, or remove them from the index.

    Args:
        message: One event or an array of events, in Event Grid's schema or as CloudEvents 1.0; JSON, or JSON in base64.

    Raises:
        BadRequest: the message is not an event.
        SwitchboardError: a temporary failure.
    """
    for name in names_in(message, app.get_settings().content_container):
        await _ingest(name, await app.get_target())


async def finish_changes() -> None:
    """Finish the uploads and deletions that an earlier process has left, where only this app writes documents."""
    store = await (await app.get_service()).documents.get()
    if app.get_settings().has_container or not [name async for name in store.names(PENDING)]:
        return
    from shared.ingestion.ingest import finish_all

    for report in await finish_all(await app.get_target()):
        _SyncLog().finished(report)


async def sync() -> None:
    """Compare the store with the index and repair the difference, as long as the platform lets a function run.

    What is left over then is done by the next run.

    Raises:
        SwitchboardError: the index or the container cannot be used; nothing has been changed.
    """
    from shared.ingestion.ingest import sync_stored

    progress = _SyncLog()
    try:
        async with asyncio.timeout(function_timeout() - _SPARE_SECONDS):
            report = await sync_stored(await app.get_target(), progress)
    except TimeoutError:
        _log.warning("sync: stopped by functionTimeout, the next one goes on: %d of %d", progress.done, progress.total)
    except SwitchboardError as fault:
        _log.warning("sync: not possible now: %s", fault.message)
        raise fault.with_traceback(None) from None  # the cause may contain a document's name
    else:
        _log.info("sync: %s", report.summary())


class _SyncLog:
    """Writes a line for each document that was not in step. Outcomes are compared as text: their module comes late."""

    total = done = 0

    def started(self, total: int) -> None:
        self.total = total

    def reading(self, name: str) -> None:
        pass

    def finished(self, file: "FileReport") -> None:
        self.done += 1
        if file.outcome not in ("unchanged", "skipped"):
            _log.info("document %s: %s", _label(file.name), f"{file.outcome} {file.detail}".rstrip())


def names_in(message: bytes, container: str) -> list[str]:
    """Return the possible names of the blobs in a message's events, without duplicates.

    Event Grid's documentation does not say whether the subject is percent-encoded. Both the plain and the decoded name
    are returned; a name without a blob has no effect.

    Raises:
        BadRequest: the message is not an event.
    """
    names: dict[str, None] = {}
    for event in _events(message):
        kind, subject = event.get("eventType", event.get("type")), event.get("subject")
        if not isinstance(kind, str) or not isinstance(subject, str):
            raise BadRequest("The message is no event: it has no type or no subject.")
        place = _SUBJECT.fullmatch(subject)
        if kind not in _TYPES or place is None or place[1] != container:
            _log.info("ignored an event: it is of another type or another container")
            continue
        names |= dict.fromkeys((place[2], unquote(place[2]), *_name_in_url(event.get("data"), container)))
    return list(names)


def _events(message: bytes) -> list[dict[str, Json]]:
    try:
        text = message.strip()
        if not text.startswith((b"{", b"[")):
            text = b64decode(text, validate=True)
        parsed = cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        raise BadRequest("The message is no event: it is neither JSON nor JSON in base64.") from None
    whole = parsed if isinstance(parsed, list) else [parsed]
    events = [event for event in whole if isinstance(event, dict)]
    if not events or len(events) < len(whole):
        raise BadRequest("The message is no event: it is no JSON object, nor an array of them.")
    return events


def _name_in_url(data: Json, container: str) -> Iterator[str]:
    match data:
        case {"url": str(url)}:
            try:
                name = unquote(urlsplit(url).path.partition(f"/{container}/")[2])
            except ValueError:
                return
            if name:
                yield name
        case _:
            return


async def _ingest(name: str, target: "Target") -> None:
    from shared.ingestion.changes import ingest_stored

    try:
        report = await ingest_stored(name, target)
    except SwitchboardError as fault:
        _log.warning("document %s cannot be indexed now: %s", _label(name), fault.message)
        raise fault.with_traceback(None) from None  # the cause may contain the document's name, which is confidential
    _log.info("document %s: %s", _label(name), f"{report.outcome} {report.detail}".rstrip())


def _label(name: str) -> str:
    """Return the document's label in the log: a hash of its name, since the name may be confidential."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASH_DIGITS]
