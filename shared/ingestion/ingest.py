"""The ingestion of many documents: of a folder, and of the store that others put documents into.

Documents that are new or changed are indexed, documents that are gone are removed, and the others are left alone. Each
document is read, embedded and written on its own, so that an interruption loses nothing that was finished.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from typing import Any
from unicodedata import normalize

from shared.documents import Rights, md5_of
from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion import FileReport, IngestReport, Outcome, Reporter
from shared.ingestion.document import LoadedDocument, ReadPassages, Target, index_document, ingest_stored, read_passages
from shared.ingestion.fingerprints import Origin, has_same_content, is_from
from shared.ingestion.folder import FoundFile, Listing, not_indexed, read_file
from shared.reading import UnreadableError

_MAX_FILES_AHEAD = max(2, min(os.process_cpu_count() or 1, 4))
"""Files of a folder that are read at the same time, two to four by the cores: each is in memory with its text."""

_EMPTY_CONTAINER = (
    "There are no documents in the container, but the index has some that came from there. Check CONTENT_CONTAINER and "
    "the storage account. If they are right, delete the index, or its documents."
)


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file of a folder that has been read."""

    document: LoadedDocument
    """Its name and bytes, and the rights of its copy."""
    fingerprint: str
    """The fingerprint of its entry."""
    read: ReadPassages | None
    """Its passages; None if its entry in the index is up to date."""
    has_copy: bool
    """Whether the store has a copy of this version; known only if the entry is up to date."""


async def ingest_folder(listing: Listing, target: Target, reporter: Reporter) -> IngestReport:
    """Make the index hold the documents of a folder, and no other documents from a folder.

    The store gets a copy of each. Documents that others put into the store or into the index stay. A file that cannot
    be indexed is reported as failed, and the work goes on. If it can never be read, its old entry is removed; if it
    cannot be indexed now (the disk or a service fails), its old entry stays.

    Args:
        listing: The content of the folder.
        target: Where the documents go.
        reporter: Follows the work.

    Raises:
        SwitchboardError: the index or the store cannot be used at all.
    """
    known = dict(await target.index.fingerprints())
    stored = {normalize("NFC", name) async for name in target.documents.names()}
    if not target.documents.is_shared:
        # Copies that an interrupted ingestion made, and that the index never got.
        for name in stored - known.keys():
            await target.documents.remove(name)
    gone = _gone(listing, known)
    reports: list[FileReport] = []

    def report(file: FileReport) -> None:
        reports.append(file)
        reporter.finished(file)

    reporter.started(len(gone) + len(listing.others) + len(listing.files))
    for name in gone:
        report(await _remove(name, target))
    for other in listing.others:
        report(other)

    async def read(found: FoundFile) -> _ReadFile:
        name = found.sourcefile
        return await _read_file(found, known.get(name), target, is_stored=name in stored)

    async with aclosing(_read_ahead(listing.files, read)) as files:
        async for found, reading in files:
            reporter.reading(found.sourcefile)
            report(await _ingest_file(found.sourcefile, reading, known.get(found.sourcefile), target))
    return IngestReport(tuple(reports))


async def sync_stored(target: Target, reporter: Reporter) -> IngestReport:
    """Make the index hold the documents of the store, and no other documents that came from there.

    Documents from a folder, and documents that others put into the index, stay. A listing of the store tells which
    documents have changed, in their bytes or in their rights; only these are read. Triggers may work at the same time:
    the state of the store counts when a document is indexed. A document that cannot be indexed is reported as failed,
    and the work goes on.

    Args:
        target: The store and the index.
        reporter: Follows the work.

    Raises:
        SwitchboardError: the index cannot be used, or the store cannot be listed; nothing has been changed.
        NotConfigured: the store is empty and the index is not; nothing has been changed.
    """
    known = await target.index.fingerprints()
    gone = {name for name, fingerprint in known.items() if is_from(Origin.STORED, fingerprint)}
    reports: list[FileReport] = []
    changed: list[str] = []
    async with aclosing(target.documents.find_all()) as documents:
        async for document in documents:
            name = document.name
            if report := not_indexed(name, target.formats):
                reports.append(report)
                continue
            gone.discard(name)
            if target.is_current(known.get(name), document):
                reports.append(FileReport(name, Outcome.UNCHANGED))
            else:
                changed.append(name)

    if gone and not (reports or changed):
        raise NotConfigured(_EMPTY_CONTAINER)
    reporter.started(len(reports) + len(gone) + len(changed))
    for report in reports:
        reporter.finished(report)
    # Documents in the index come first: it may show something that is now forbidden to some users.
    for name in (*sorted(gone), *sorted(changed, key=lambda name: name not in known)):
        reporter.reading(name)
        report = await _follow_store(name, target)
        reports.append(report)
        reporter.finished(report)
    return IngestReport(tuple(reports))


def _gone(listing: Listing, known: Mapping[str, str]) -> list[str]:
    """Documents in the index that came from a folder and are not in this one."""
    present = {found.sourcefile for found in listing.files}
    closed = tuple(listing.closed_folders)
    return sorted(
        name
        for name, fingerprint in known.items()
        if is_from(Origin.FOLDER, fingerprint) and name not in present and not name.startswith(closed)
    )


async def _read_ahead(
    files: Sequence[FoundFile], read: Callable[[FoundFile], Coroutine[Any, Any, _ReadFile]]
) -> AsyncGenerator[tuple[FoundFile, asyncio.Task[_ReadFile]]]:
    """Yield each file with the task that reads it, in order, while the next ones are read already.

    Only reading goes ahead: entries get into the index in the order of the files, whatever takes longer.
    """
    waiting = iter(files)
    tasks: deque[tuple[FoundFile, asyncio.Task[_ReadFile]]] = deque()
    try:
        while True:
            for found in islice(waiting, _MAX_FILES_AHEAD - len(tasks)):
                tasks.append((found, asyncio.create_task(read(found))))
            if not tasks:
                return
            yield tasks.popleft()
    finally:
        for _, task in tasks:
            task.cancel()
        await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)


async def _read_file(found: FoundFile, known: str | None, target: Target, *, is_stored: bool) -> _ReadFile:
    """Read a file of a folder, and its passages if it is new or changed.

    Raises:
        UnreadableError: it has no text that can be read.
        OSError, SwitchboardError: it cannot be read now.
    """
    name = found.sourcefile
    copy = await target.documents.find(name) if is_stored else None
    document, new = await asyncio.to_thread(_load, found, copy.rights if copy else Rights(), target)
    if has_same_content(known, new):
        return _ReadFile(document, new, None, has_copy=copy is not None and copy.md5 in (None, document.version))
    return _ReadFile(document, new, await read_passages(document, target), has_copy=False)


def _load(found: FoundFile, rights: Rights, target: Target) -> tuple[LoadedDocument, str]:
    """Load a file of a folder, and compute the fingerprint of its entry."""
    data = read_file(found.path)
    document = LoadedDocument(found.sourcefile, data, Origin.FOLDER, md5_of(data), rights)
    return document, target.fingerprint_of(document)


async def _ingest_file(name: str, reading: asyncio.Task[_ReadFile], known: str | None, target: Target) -> FileReport:
    """Index a file of a folder if it is new or changed. Whatever goes wrong is reported as the file's failure."""
    try:
        read = await reading
        if read.read:
            return await index_document(read.document, read.read, read.fingerprint, target, keep=True)
        if not read.has_copy:
            await target.documents.keep(name, read.document.data)
        return FileReport(name, Outcome.UNCHANGED)
    except UnreadableError as unreadable:
        if known is not None and is_from(Origin.FOLDER, known):
            await _remove(name, target)
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except OSError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.strerror}.")
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        return FileReport(name, Outcome.FAILED, _defect(fault))


async def _remove(name: str, target: Target) -> FileReport:
    """Remove a document that came from a folder. If others have overwritten its copy, the document is now theirs."""
    document = await target.documents.find(name)
    if document and not (document.kept and await target.documents.remove(name, document.etag)):
        return await _follow_store(name, target)
    await target.forget(name)
    return FileReport(name, Outcome.REMOVED)


async def _follow_store(name: str, target: Target) -> FileReport:
    """Make the index hold the stored document of this name. An error of a service is reported, not raised."""
    try:
        if not_indexed(name, target.formats):  # the format could be read when it was indexed
            await target.forget(name)
            return FileReport(name, Outcome.REMOVED)
        return await ingest_stored(name, target)
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        return FileReport(name, Outcome.FAILED, _defect(fault))


def _defect(fault: Exception) -> str:
    return f"cannot be indexed because of a defect of the app or a library ({type(fault).__name__})."
