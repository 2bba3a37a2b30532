"""The ingestion of the store that others put documents into.

Documents that are new or changed are indexed, documents that are gone are removed, and the others are left alone. What
is reported as indexed has been written, so that an interruption loses nothing that was finished.
"""

from collections.abc import Sequence
from functools import partial

from shared.documents import PENDING, StoredDocument, is_hidden, own
from shared.documents.failures import FAILED, noted_name, notes_in
from shared.errors import NotConfigured
from shared.ingestion import Counted, FileReport, Outcome, Reporter
from shared.ingestion.changes import finish, ingest_stored, settled
from shared.ingestion.comparison import Comparison, comparing, together
from shared.ingestion.document import Origin, Target, failed, not_indexed

_EMPTY_CONTAINER = (
    "There are no documents in the container, but the index has some that came from there. Check CONTENT_CONTAINER and "
    "the storage account. If they are right, delete the index, or its documents."
)


async def sync_stored(target: Target, reporter: Reporter) -> Counted:
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
    counted = Counted(reporter)
    finished = await finish_all(target)
    if not target.documents.is_shared:
        reporter.started(len(finished))
        for report in finished:
            counted.finished(report)
        return counted
    async with comparing(target.index) as comparison:
        await comparison.run(lambda: comparison.report(finished))
        is_empty = True
        async for documents in together(target.documents.find_all()):
            is_empty = is_empty and all(is_hidden(one.name) for one in documents)
            await comparison.run(partial(_compare, documents, comparison, target))
        # Notes may be out of date after a kill. Files of a folder on another machine are not known here.
        failures = [noted_name(note.name) async for note in notes_in("", target.documents) if not note.kept]
        await comparison.run(partial(comparison.add_documents, [(name, True) for name in failures]))
        if is_empty and [name async for name in comparison.gone(Origin.STORED)]:
            raise NotConfigured(_EMPTY_CONTAINER)
        reporter.started(await comparison.total(Origin.STORED))
        async for report in comparison.reports():
            counted.finished(report)
        # Documents in the index come first: it may show something that is now forbidden to some users.
        for names in (comparison.gone(Origin.STORED), comparison.to_do()):
            async for name in names:
                reporter.reading(name)
                counted.finished(await follow_store(name, target))
    return counted


def _compare(documents: Sequence[StoredDocument], comparison: Comparison, target: Target) -> None:
    """Compare documents of the store with what the index has of them."""
    known = comparison.known([document.name for document in documents])
    documents = [document for document in documents if not document.name.startswith((own.PEOPLE, FAILED))]
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
            report = failed(note, fault)
        reports += [report] if report else []
    return reports


async def follow_store(name: str, target: Target) -> FileReport:
    """Bring the index up to date with a stored document. An error of a service is reported, not raised."""
    try:
        if not_indexed(name, target.formats):  # the format could be read when it was indexed
            await target.forget(name)
            return FileReport(name, Outcome.REMOVED)
        return await ingest_stored(name, target)
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        return await settled(failed(name, fault), target)
