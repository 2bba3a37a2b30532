"""The index brought into step with the container of documents, which others fill and nobody may have told of."""

from contextlib import aclosing

from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion.document import Target, ingest_stored
from shared.ingestion.fingerprints import Origin, is_of
from shared.ingestion.naming import why_not
from shared.ingestion.reports import FileReport, IngestReport, Outcome, Reporter

_EMPTY = (
    "There are no documents in the container, but the index has some that came from there. Check CONTENT_CONTAINER and "
    "the storage account. If they are right, delete the index, or its documents."
)


async def sync_stored(target: Target, reporter: Reporter) -> IngestReport:
    """Make the index hold the documents of the store as they are now, and nothing else that came from there.

    What came from a folder, and what others put into the index, stays. The listing tells what has changed, bytes or
    rights, so that nothing else is read. Then each document is done on its own, as a trigger does it, which may be at
    work at the same time: what counts is the state of the document then. An interruption loses nothing that was
    finished. A document that cannot be indexed is reported as failed, and the others still are.

    Args:
        target: What to compare: its store of documents, and its index.
        reporter: Follows.

    Raises:
        SwitchboardError: the index cannot be used, or the store cannot be listed; nothing has been changed then.
        NotConfigured: the store is empty and the index is not; nothing has been changed either.
    """
    known = await target.index.fingerprints()
    gone = {name for name, mark in known.items() if is_of(Origin.STORED, mark)}
    reports: list[FileReport] = []
    changed: list[str] = []
    async with aclosing(target.documents.find_all()) as documents:
        async for document in documents:
            name = document.name
            if reason := why_not(name, target.formats):
                reports.append(FileReport(name, Outcome.SKIPPED, reason))
                continue
            gone.discard(name)
            if target.is_current(known.get(name), document):
                reports.append(FileReport(name, Outcome.UNCHANGED))
            else:
                changed.append(name)

    if gone and not (reports or changed):
        raise NotConfigured(_EMPTY)
    reporter.started(len(reports) + len(gone) + len(changed))
    for report in reports:
        reporter.finished(report)
    # What is in the index first: it may show what nobody, or not everybody, is to see any more.
    for name in (*sorted(gone), *sorted(changed, key=lambda name: name not in known)):
        reporter.reading(name)
        report = await follow(name, target)
        reports.append(report)
        reporter.finished(report)
    return IngestReport(tuple(reports))


async def follow(name: str, target: Target) -> FileReport:
    """Make the index hold the document of this name as the store has it now; a fault is reported and not raised."""
    try:
        if why_not(name, target.formats):  # it could be read when it was indexed
            await target.forget(name)
            return FileReport(name, Outcome.REMOVED)
        return await ingest_stored(name, target)
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")
