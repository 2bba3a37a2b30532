"""The ingestion of a folder: what is new or changed is indexed, what is gone is removed, the rest is left alone."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from unicodedata import normalize

from shared.documents import Rights, md5_of
from shared.errors import SwitchboardError
from shared.ingestion.document import Target, index_document
from shared.ingestion.fingerprints import Origin, is_of, is_same
from shared.ingestion.folder import Found, Listing, list_folder
from shared.ingestion.reports import FileReport, IngestReport, Outcome, Reporter
from shared.ingestion.sync import follow
from shared.reading.pages import UnreadableError


async def ingest_folder(folder: Path, target: Target, reporter: Reporter, leave_out: Collection[Path]) -> IngestReport:
    """Make the index hold the documents of `folder`, and the store a copy of each, and nothing else from a folder.

    What others put into the store or into the index stays. Each file is read, embedded and written on its own, so an
    interruption loses nothing that was finished. A file that cannot be indexed is reported as failed and the others
    still are: if there is no text to be had from it any more, what the index held of it is removed; if it was a fault
    of the moment (the disk, the embedding service), that stays.

    Args:
        folder: The documents, with all folders below it.
        target: Where they go.
        reporter: Follows.
        leave_out: Folders below it that hold no documents of their own.

    Raises:
        SwitchboardError: the index or the store cannot be used at all.
    """
    listing = await asyncio.to_thread(list_folder, folder, leave_out, target.formats)
    known = dict(await target.index.fingerprints())
    stored = {normalize("NFC", name) async for name in target.documents.names()}
    if not target.documents.is_shared:
        # What an interruption left of files which the index never got.
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
    for found in listing.files:
        reporter.reading(found.sourcefile)
        report(await _ingest_file(found, known.get(found.sourcefile), target, is_stored=found.sourcefile in stored))
    return IngestReport(tuple(reports))


def _gone(listing: Listing, known: Mapping[str, str]) -> list[str]:
    """What came from a folder, and is in this one no more."""
    present = {found.sourcefile for found in listing.files}
    closed = tuple(listing.closed_folders)
    return sorted(
        name
        for name, mark in known.items()
        if is_of(Origin.FOLDER, mark) and name not in present and not name.startswith(closed)
    )


async def _ingest_file(found: Found, known: str | None, target: Target, *, is_stored: bool) -> FileReport:
    name, path = found.sourcefile, found.path
    try:
        document = await target.documents.find(name) if is_stored else None
        rights = document.rights if document else Rights()
        version = await asyncio.to_thread(md5_of, path)
        mark = await asyncio.to_thread(target.mark, Origin.FOLDER, path, rights, version)
        if is_same(known, mark):
            if not document or document.md5 not in (None, version):
                await target.documents.keep(name, path)
            return FileReport(name, Outcome.UNCHANGED)
        return await index_document(name, path, mark, rights, target, keep=True)
    except UnreadableError as unreadable:
        if known is not None and is_of(Origin.FOLDER, known):
            await _remove(name, target)
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except OSError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.strerror}.")
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")


async def _remove(name: str, target: Target) -> FileReport:
    """Remove what came from a folder. If others have written over it, it is theirs from now on."""
    document = await target.documents.find(name)
    if document and not (document.kept and await target.documents.remove(name, document.etag)):
        return await follow(name, target)
    await target.forget(name)
    return FileReport(name, Outcome.REMOVED)
