"""The ingestion of many documents: of a folder, and of the store that others put documents into.

Documents that are new or changed are indexed, documents that are gone are removed, and the others are left alone. What
is reported as indexed has been written, so that an interruption loses nothing that was finished.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from shared.documents import PENDING, StoredDocument, is_hidden
from shared.documents.own import PEOPLE
from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion import FileReport, IngestReport, Outcome, Reporter
from shared.ingestion.bundles import ReadFile, Reading, bundles_of, read_ahead
from shared.ingestion.changes import delete, finish, ingest_stored
from shared.ingestion.comparison import Comparison, comparing, together
from shared.ingestion.document import Origin, Target, entry_of, indexed, is_from
from shared.ingestion.folder import FoundFile, not_indexed
from shared.reading import UnreadableError
from shared.retrieval import FileEntry

_EMPTY_CONTAINER = (
    "There are no documents in the container, but the index has some that came from there. Check CONTENT_CONTAINER and "
    "the storage account. If they are right, delete the index, or its documents."
)


async def ingest_folder(listing: Iterable[FoundFile | FileReport], target: Target, reporter: Reporter) -> IngestReport:
    """Bring the index up to date with a folder, and remove documents of other folders from it.

    The store gets a copy of each. Documents that others put into the store or into the index stay. A file that cannot
    be indexed is reported as failed, and the work goes on. If it can never be read, its old entry is removed; if it
    cannot be indexed now (the disk or a service fails), its old entry stays.

    Args:
        listing: The content of the folder, in any order.
        target: Where the documents go.
        reporter: Follows the work.

    Raises:
        SwitchboardError: the index or the store cannot be used at all.
    """
    counted = _Counted(reporter)
    async with comparing(target.index) as comparison:
        await comparison.add_stored(target.documents.names())
        await comparison.run(lambda: comparison.add_files(listing))
        if not target.documents.is_shared:
            # Copies that an interrupted ingestion made, and that the index never got. Uploads may be on their way.
            async for name in comparison.unknown():
                copy = await target.documents.find(name)
                if copy and copy.kept and not is_hidden(name):
                    await target.documents.remove(name, copy.etag)
        reporter.started(await comparison.total(Origin.FOLDER))
        async for name in comparison.gone(Origin.FOLDER):
            counted.finished(await _remove(name, target))
        async for report in comparison.reports():
            counted.finished(report)

        files = bundles_of(comparison.files(), target)
        async with aclosing(files), aclosing(read_ahead(files, target)) as bundles:
            async for bundle, reading in bundles:
                for found in bundle:
                    reporter.reading(found.sourcefile)
                for report in await _ingest_bundle(zip(bundle, await reading, strict=True), target):
                    counted.finished(report)
    return IngestReport(counted.counts)


async def sync_stored(target: Target, reporter: Reporter) -> IngestReport:
    """Bring the index up to date with the store, and remove documents from it that are no longer there.

    Interrupted changes are finished first. Documents from a folder, and documents that others put into the
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
    counted = _Counted(reporter)
    finished = await finish_all(target)
    if not target.documents.is_shared:
        reporter.started(len(finished))
        for report in finished:
            counted.finished(report)
        return IngestReport(counted.counts)
    async with comparing(target.index) as comparison:
        await comparison.run(lambda: comparison.report(finished))
        is_empty = True
        async for documents in together(target.documents.find_all()):
            is_empty = False
            await comparison.run(partial(_compare, documents, comparison, target))
        if is_empty and [name async for name in comparison.gone(Origin.STORED)]:
            raise NotConfigured(_EMPTY_CONTAINER)
        reporter.started(await comparison.total(Origin.STORED))
        async for report in comparison.reports():
            counted.finished(report)
        # Documents in the index come first: it may show something that is now forbidden to some users.
        for names in (comparison.gone(Origin.STORED), comparison.to_do()):
            async for name in names:
                reporter.reading(name)
                counted.finished(await _follow_store(name, target))
    return IngestReport(counted.counts)


class _Counted:
    """Counts the reports that it passes on."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.counts = Counter[Outcome]()

    def finished(self, report: FileReport) -> None:
        self.counts[report.outcome] += 1
        self._reporter.finished(report)


def _compare(documents: Sequence[StoredDocument], comparison: Comparison, target: Target) -> None:
    """Compare documents of the store with what the index has of them."""
    known = comparison.known([document.name for document in documents])
    documents = [document for document in documents if not document.name.startswith(PEOPLE)]
    refused = {one.name: one for document in documents if (one := not_indexed(document.name, target.formats))}
    listed = {
        document.name: not target.is_current(known.get(document.name), document)
        for document in documents
        if document.name not in refused
    }
    comparison.add_documents(listed.items())
    comparison.report(refused.values())
    comparison.report(FileReport(name, Outcome.UNCHANGED) for name, to_do in listed.items() if not to_do)


async def finish_all(target: Target) -> list[FileReport]:
    """Finish the interrupted changes of documents. One that fails now is reported, and can be finished later."""
    reports: list[FileReport] = []
    for note in [name async for name in target.documents.names(PENDING)]:
        try:
            report = await finish(note, target)
        except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
            report = _failed(note, fault)
        reports += [report] if report else []
    return reports


async def _ingest_bundle(readings: Iterable[tuple[FoundFile, Reading]], target: Target) -> list[FileReport]:
    """Index the files of a bundle that are new or changed. Whatever goes wrong is reported as the failure of a file."""
    done = [await _prepared(found, reading, target) for found, reading in readings]
    written = iter(await _write([one.entry for one in done if isinstance(one, _Prepared)], target))
    return [await _settled(one.copy, next(written), target) if isinstance(one, _Prepared) else one for one in done]


class _Prepared(NamedTuple):
    """A file that is ready to be written to the index."""

    entry: FileEntry
    copy: StoredDocument
    """Its copy in the store."""


async def _prepared(found: FoundFile, reading: Reading, target: Target) -> _Prepared | FileReport:
    """Prepare the entry of a file, if it needs a new one."""
    name, fault = found.sourcefile, reading
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
    if isinstance(fault, UnreadableError) and found.known is not None and is_from(Origin.FOLDER, found.known):
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
    """Bring the index up to date with a stored document. An error of a service is reported, not raised."""
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
