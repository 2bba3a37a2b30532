"""The ingestion of a folder.

Documents that are new or changed are indexed, documents that are gone are removed, and the others are left alone. What
is reported as indexed has been written, so that an interruption loses nothing that was finished.
"""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from local.folder import FoundFile
from local.folder.bundles import ReadFile, Reading, bundles_of, read_ahead
from local.folder.comparison import FolderComparison
from shared.documents import DocumentStore, Rights, StoredDocument, is_hidden
from shared.documents.failures import FAILED, note_failure, note_of, noted_name, notes_in
from shared.ingestion import Counted, FileReport, Outcome, Reporter
from shared.ingestion.changes import delete
from shared.ingestion.comparison import comparing
from shared.ingestion.document import Origin, Target, entry_of, failed, indexed, is_from
from shared.ingestion.ingest import follow_store
from shared.reading import UnreadableError
from shared.retrieval import FileEntry


async def ingest_folder(listing: Iterable[FoundFile | FileReport], target: Target, reporter: Reporter) -> Counted:
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
    counted = _Noted(reporter, target.documents)
    await counted.begin()
    async with comparing(target.index, FolderComparison) as comparison:
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
            await counted.settle(await _remove(name, target))
        async for report in comparison.reports():
            await counted.settle(report)

        files = bundles_of(comparison.files(), target)
        async with aclosing(files), aclosing(read_ahead(files, target)) as bundles:
            async for bundle, reading in bundles:
                for found in bundle:
                    reporter.reading(found.sourcefile)
                for report in await _ingest_bundle(zip(bundle, await reading, strict=True), target):
                    await counted.settle(report)
    await counted.end()
    return counted


class _Noted(Counted):
    """Counts the reports, and keeps a note on each file that could not be indexed."""

    def __init__(self, reporter: Reporter, store: DocumentStore) -> None:
        super().__init__(reporter)
        self._store = store
        self._earlier = dict[str, bool]()

    async def begin(self) -> None:
        """Find the notes of earlier runs, and whether they are on files of a folder."""
        if [name async for name in self._store.names(FAILED)]:
            self._earlier = {noted_name(note.name): note.kept async for note in notes_in("", self._store)}

    async def settle(self, report: FileReport) -> None:
        """Count a report, and note or forget a failure."""
        is_noted = self._earlier.pop(report.name, None) is not None
        if report.outcome is Outcome.FAILED:
            await note_failure(report.name, report.detail, Rights(), self._store, own=True)
        elif is_noted:
            await self._store.remove(note_of(report.name))
        self.finished(report)

    async def end(self) -> None:
        """Forget files that are no longer in the folder."""
        for name in [name for name, is_of_folder in self._earlier.items() if is_of_folder]:
            await self._store.remove(note_of(name))


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
    return failed(name, fault)


async def _settled(copy: StoredDocument, report: FileReport, target: Target) -> FileReport:
    """The report on a file; if others have replaced its copy before its entry was written, the index follows them."""
    if report.outcome is Outcome.INDEXED and await target.documents.find(copy.name) != copy:
        return await follow_store(copy.name, target)
    return report


async def _write(entries: Sequence[FileEntry], target: Target) -> list[FileReport]:
    """Write entries together, or each by itself if that fails, so that none fails for another."""
    try:
        await target.index.replace(*entries)
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        if len(entries) == 1:
            return [failed(entries[0].sourcefile, fault)]
        return [report for entry in entries for report in await _write([entry], target)]
    return [indexed(entry) for entry in entries]


async def _remove(name: str, target: Target) -> FileReport:
    """Remove a document that came from a folder. If others have overwritten its copy, the document is now theirs."""
    document = await target.documents.find(name)
    if document and not document.kept:
        return await follow_store(name, target)
    return await delete(name, document, target)
