"""The ingestion of many documents: of a folder, and of the store that others put documents into.

Documents that are new or changed are indexed, documents that are gone are removed, and the others are left alone. What
is reported as indexed has been written, so that an interruption loses nothing that was finished.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple
from unicodedata import normalize

from shared.documents import PENDING, StoredDocument, is_hidden
from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion import FileReport, IngestReport, Outcome, Reporter
from shared.ingestion.bundles import ReadFile, Reading, bundles_of, read_ahead
from shared.ingestion.changes import delete, finish, ingest_stored
from shared.ingestion.document import Target, entry_of, indexed
from shared.ingestion.fingerprints import Origin, is_from
from shared.ingestion.folder import Listing, not_indexed
from shared.reading import UnreadableError
from shared.retrieval import FileEntry

_EMPTY_CONTAINER = (
    "There are no documents in the container, but the index has some that came from there. Check CONTENT_CONTAINER and "
    "the storage account. If they are right, delete the index, or its documents."
)


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
        # Copies that an interrupted ingestion made, and that the index never got. Uploads may be on their way there.
        for name in stored - known.keys():
            copy = await target.documents.find(name)
            if copy and copy.kept and not is_hidden(name):
                await target.documents.remove(name, copy.etag)
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

    async with aclosing(read_ahead(bundles_of(listing.files, target), known, stored, target)) as bundles:
        async for bundle, reading in bundles:
            names = [found.sourcefile for found in bundle]
            for name in names:
                reporter.reading(name)
            for file in await _ingest_bundle(dict(zip(names, await reading, strict=True)), known, target):
                report(file)
    return IngestReport(tuple(reports))


async def sync_stored(target: Target, reporter: Reporter) -> IngestReport:
    """Make the index hold the documents of the store, and no other documents that came from there.

    Changes that have broken off are finished first. Documents from a folder, and documents that others put into the
    index, stay. A listing of the store tells which documents have changed, in their bytes or in their rights; only
    these are read. Triggers may work at the same time: the state of the store counts when a document is indexed. A
    document that cannot be indexed is reported as failed, and the work goes on. Where only this app writes documents,
    there is nothing else to do than to finish changes.

    Args:
        target: The store and the index.
        reporter: Follows the work.

    Raises:
        SwitchboardError: the index cannot be used, or the store cannot be listed; nothing has been changed.
        NotConfigured: the store is empty and the index is not; nothing has been changed.
    """
    reports = await finish_all(target)
    if not target.documents.is_shared:
        reporter.started(len(reports))
        for report in reports:
            reporter.finished(report)
        return IngestReport(tuple(reports))
    known = await target.index.fingerprints()
    gone = {name for name, fingerprint in known.items() if is_from(Origin.STORED, fingerprint)}
    changed: list[str] = []
    is_empty = True
    async with aclosing(target.documents.find_all()) as documents:
        async for document in documents:
            name = document.name
            is_empty = False
            if report := not_indexed(name, target.formats):
                reports.append(report)
                continue
            gone.discard(name)
            if target.is_current(known.get(name), document):
                reports.append(FileReport(name, Outcome.UNCHANGED))
            else:
                changed.append(name)

    if gone and is_empty:
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


async def finish_all(target: Target) -> list[FileReport]:
    """Finish the changes of documents that have broken off. One that fails now is reported, and stays to be done."""
    reports: list[FileReport] = []
    for note in [name async for name in target.documents.names(PENDING)]:
        try:
            report = await finish(note, target)
        except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
            report = _failed(note, fault)
        reports += [report] if report else []
    return reports


def _gone(listing: Listing, known: Mapping[str, str]) -> list[str]:
    """Documents in the index that came from a folder and are not in this one."""
    present = {found.sourcefile for found in listing.files}
    closed = tuple(listing.closed_folders)
    return sorted(
        name
        for name, fingerprint in known.items()
        if is_from(Origin.FOLDER, fingerprint) and name not in present and not name.startswith(closed)
    )


async def _ingest_bundle(readings: Mapping[str, Reading], known: Mapping[str, str], target: Target) -> list[FileReport]:
    """Index the files of a bundle that are new or changed. Whatever goes wrong is reported as the failure of a file."""
    done = [await _prepared(name, reading, known.get(name), target) for name, reading in readings.items()]
    written = iter(await _write([one.entry for one in done if isinstance(one, _Prepared)], target))
    return [await _settled(one.copy, next(written), target) if isinstance(one, _Prepared) else one for one in done]


class _Prepared(NamedTuple):
    """A file of which all is done but to write its entry."""

    entry: FileEntry
    copy: StoredDocument
    """Its copy in the store."""


async def _prepared(name: str, reading: Reading, known: str | None, target: Target) -> _Prepared | FileReport:
    """Do all for a file but to write its entry, if it has one."""
    fault = reading
    if isinstance(reading, ReadFile):
        try:
            data = reading.document.data
            if reading.passages:
                entry = await entry_of(reading.document, reading.passages, reading.fingerprint, target)
                return _Prepared(entry, await target.documents.keep(name, data, reading.copy))
            if not reading.has_copy:
                await target.documents.keep(name, data, reading.copy)
            return FileReport(name, Outcome.UNCHANGED)
        except Exception as raised:  # noqa: BLE001 (odd content can make any library raise anything)
            fault = raised
    if isinstance(fault, UnreadableError) and known is not None and is_from(Origin.FOLDER, known):
        await _remove(name, target)
    return _failed(name, fault)


async def _settled(copy: StoredDocument, report: FileReport, target: Target) -> FileReport:
    """The report on a file; if others have replaced its copy before its entry was written, the index follows them."""
    if report.outcome is Outcome.INDEXED and await target.documents.find(copy.name) != copy:
        return await _follow_store(copy.name, target)
    return report


async def _write(entries: Sequence[FileEntry], target: Target) -> list[FileReport]:
    """Write entries together, or each by itself if that fails, so that none fails for another."""
    try:
        await target.index.replace(*entries)
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        if len(entries) == 1:
            return [_failed(entries[0].sourcefile, fault)]
        return [report for entry in entries for report in await _write([entry], target)]
    return [indexed(entry) for entry in entries]


async def _remove(name: str, target: Target) -> FileReport:
    """Remove a document that came from a folder. If others have overwritten its copy, the document is now theirs."""
    document = await target.documents.find(name)
    if document and not document.kept:
        return await _follow_store(name, target)
    return await delete(name, document, target)


async def _follow_store(name: str, target: Target) -> FileReport:
    """Make the index hold the stored document of this name. An error of a service is reported, not raised."""
    try:
        if not_indexed(name, target.formats):  # the format could be read when it was indexed
            await target.forget(name)
            return FileReport(name, Outcome.REMOVED)
        return await ingest_stored(name, target)
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        return _failed(name, fault)


def _failed(name: str, fault: object) -> FileReport:
    match fault:
        case UnreadableError():
            reason = str(fault)
        case OSError():
            reason = f"cannot be indexed now: {fault.strerror}."
        case SwitchboardError():
            reason = f"cannot be indexed now: {fault.message}"
        case _:
            reason = f"cannot be indexed because of a defect of the app or a library ({type(fault).__name__})."
    return FileReport(name, Outcome.FAILED, reason)
