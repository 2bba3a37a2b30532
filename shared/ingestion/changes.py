"""Every change of one document: it is written, it is deleted, or the index follows what others did.

- The store is written under the condition that it still has what was checked, so no two callers write over each other.
- After each change of the store, the caller updates the index. Whatever others do meanwhile, the last caller to update
  it finds the final state of the store.
- A note beside the documents records a change that has begun. If it is interrupted, `finish` completes it. Another one
  says why a document could not be indexed, until it is (`shared/documents/failures.py`).
"""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import aclosing, suppress
from io import BytesIO

import msgspec

from shared.documents import PENDING, DocumentStore, Rights, StoredDocument, conflict, md5_of, own
from shared.documents.failures import note_failure, note_of
from shared.errors import AlreadyThere, BadRequest, SwitchboardError, Unavailable, Unreadable
from shared.ingestion import FileReport, Outcome
from shared.ingestion.document import (
    LoadedDocument,
    Origin,
    ReadPassages,
    Target,
    entry_of,
    failed,
    has_same_content,
    indexed,
    is_from,
    not_indexed,
    origin_of,
    read_passages,
)
from shared.reading import UnreadableError
from shared.reading.readers import check_size

_MAX_TRIES = 3
"""How often a document is indexed when it changes again during the work."""
_QUEUED = "It is in the container of documents. The trigger of the container, or the next sync, indexes it."


class _Pending(msgspec.Struct, frozen=True):
    """The note on a change that has begun."""

    name: str
    """The document."""
    deletes: str | None = None
    """ETag of the version that is deleted, empty if only the index has one; None: the document is written."""


def check_name(name: str, target: Target) -> None:
    """Check that a document of this name can be indexed.

    Raises:
        BadRequest: it cannot; says why.
    """
    if report := not_indexed(name, target.formats):
        raise BadRequest(f"The document {report.detail}")


async def write(
    name: str,
    data: bytes,
    replaces: StoredDocument | None,
    rights: Rights,
    target: Target,
    step: Callable[[str], None] = lambda _: None,
) -> FileReport:
    """Put a document into the store and the index. A container's trigger, or the next sync, indexes what is put there.

    It counts as put there by others: the ingestion of a folder removes only what came from a folder.

    Args:
        name: Its name, which `check_name` accepts.
        data: Its bytes.
        replaces: What was there when the caller was checked; None: nothing.
        rights: Who may see a new document. One that is replaced keeps its rights, unless it came from a folder into a
            folder, which knows none of it.
        target: Where it goes.
        step: Called with each step as it begins: `reading`, `embedding`, `writing`.

    Raises:
        AlreadyThere: the store has something else than what was checked. That stays.
        Unreadable: the document cannot be indexed.
        BadRequest: the store can have no document of this name.
    """
    store = target.documents
    keeps_rights = replaces is not None and (store.is_shared or not replaces.kept)
    rights = replaces.rights if replaces and keeps_rights else rights
    async with target.lock(name):
        if await store.find(name) != replaces:
            raise conflict(replaces)
        if store.is_shared and not name.startswith(own.PEOPLE):  # a container's trigger leaves hidden names alone
            await store.keep(name, data, replaces, None if keeps_rights else rights, own=False)
            return FileReport(name, Outcome.QUEUED, _QUEUED)
        document = LoadedDocument(name, data, Origin.STORED, await asyncio.to_thread(md5_of, data), rights)
        try:
            step("reading")
            read = await read_passages(document, target)
            step("embedding")
            note = await _begin(_Pending(name), target)
            return await _write(document, read, replaces, note, target, step)
        except (UnreadableError, SwitchboardError) as fault:
            if not isinstance(fault, AlreadyThere):
                await note_failure(name, failed(name, fault).detail, rights, store)
            if isinstance(fault, UnreadableError):
                raise Unreadable(f"The document {fault}") from None
            raise


async def _write(
    document: LoadedDocument,
    read: ReadPassages,
    replaces: StoredDocument | None,
    note: StoredDocument,
    target: Target,
    step: Callable[[str], None],
) -> FileReport:
    """Do the part of `write` that changes something. If it fails, restore the earlier state if possible."""
    name, store, kept = document.name, target.documents, None
    try:
        entry = await entry_of(document, read, await asyncio.to_thread(target.fingerprint_of, document), target)
        step("writing")
        kept = await store.keep(name, document.data, replaces, document.rights, own=False)
        await target.index.replace(entry)
        if await store.find(name) != kept:  # another process has changed it since
            await _follow(name, target)
    except (SwitchboardError, UnreadableError):
        with suppress(SwitchboardError, OSError):
            if kept and not replaces:
                await store.remove(name, kept.etag)
            await _end(note, await _redo(name, target), target)
        raise
    return await _end(note, indexed(entry), target)


async def delete(name: str, document: StoredDocument | None, target: Target) -> FileReport:
    """Delete a document: its passages, their images, and at last its file.

    Args:
        name: Its name.
        document: The version that is deleted; None: only the index has something of this name.
        target: Where it is.

    Returns:
        What the index has in the end: the document is removed, or another version that came meanwhile is there.

    Raises:
        BadRequest: its name leads through a link.
    """
    async with target.lock(name):
        note = await _begin(_Pending(name, document.etag if document else ""), target)
        return await _end(note, await _delete(name, document, target), target)


async def _delete(name: str, document: StoredDocument | None, target: Target) -> FileReport:
    await target.forget(name)
    if document:
        await target.documents.remove(name, document.etag)
    return await _follow(name, target)  # others may have indexed it again before it was removed


async def finish(note_name: str, target: Target) -> FileReport | None:
    """Finish a change that was interrupted.

    Args:
        note_name: A name in the store that begins with `PENDING`.
        target: Where the document is.

    Returns:
        What became of the document; None if somebody else has finished it.
    """
    store = target.documents
    if (found := await _pending(note_name, store)) is None:
        return None
    name = found[1].name
    async with target.lock(name):
        if (found := await _pending(note_name, store)) is None:
            return None
        note, pending = found
        document = await store.find(name)
        if pending.deletes is None:
            report = await _redo(name, target)
        elif document is None or document.etag == pending.deletes:
            report = await _delete(name, document, target)
        else:  # another version came after the deletion was interrupted
            report = await _follow(name, target)
        return await _end(note, report, target)


async def _begin(pending: _Pending, target: Target) -> StoredDocument:
    name = f"{PENDING}{hashlib.sha256(pending.name.encode()).hexdigest()}"
    earlier = await target.documents.find(name)
    return await target.documents.keep(name, msgspec.json.encode(pending), earlier)


async def _end(note: StoredDocument, report: FileReport, target: Target) -> FileReport:
    await settled(report, target)
    await target.documents.remove(note.name, note.etag)
    return report


async def settled(report: FileReport, target: Target) -> FileReport:
    """Note that a stored document could not be indexed, or that an earlier failure of it is over."""
    store = target.documents
    if report.outcome is not Outcome.FAILED:
        if earlier := await store.find(note_of(report.name)):  # who may only read has noted nothing
            await store.remove(earlier.name)
        return report
    with suppress(SwitchboardError):
        if document := await store.find(report.name):
            await note_failure(report.name, report.detail, document.rights, store)
    return report


async def _pending(note_name: str, store: DocumentStore) -> tuple[StoredDocument, _Pending] | None:
    note = await store.find(note_name)
    return (note, msgspec.json.decode(await _read(note, store), type=_Pending)) if note else None


async def ingest_stored(name: str, target: Target) -> FileReport:
    """Bring the index up to date with the stored document of this name; remove it if it is gone.

    A document that cannot be read is reported as failed, and its entry is removed. Calls may come at any time, also
    several for one document at once: the last one to write finds the version that is in the store then.
    """
    if report := not_indexed(name, target.formats):
        return report
    async with target.lock(name):
        return await settled(await _follow(name, target), target)


async def _redo(name: str, target: Target) -> FileReport:
    """Make again what is made of the stored document: an interrupted change may have left images of another version.

    What came from a folder was never replaced, and the index alone may know who may see it.
    """
    document = await target.documents.find(name)
    if document and document.kept:
        return FileReport(name, Outcome.UNCHANGED)
    await target.forget(name)
    return await _follow(name, target)


async def _follow(name: str, target: Target) -> FileReport:
    """Bring the index up to date with the store."""
    for _ in range(_MAX_TRIES):
        document = await target.documents.find(name)
        try:
            report = await _index(name, document, target)
        except SwitchboardError:
            # The error may come from a change during the work: then the new version is tried.
            if await target.documents.find(name) == document:
                raise
        else:
            if await target.documents.find(name) == document:
                return report
    raise Unavailable("The document is changed again and again while it is indexed.")


async def _index(name: str, document: StoredDocument | None, target: Target) -> FileReport:
    """Index this version of a stored document."""
    if not document:
        await target.forget(name)
        return FileReport(name, Outcome.REMOVED)
    try:
        data = await _read(document, target.documents)
        loaded = LoadedDocument(name, data, origin_of(document), document.version, document.rights)
        new = await asyncio.to_thread(target.fingerprint_of, loaded)
        async with aclosing(target.index.fingerprints(name)) as found:
            known = dict([one async for one in found]).get(name, "")
        if has_same_content(known, new) and is_from(loaded.origin, known):
            return FileReport(name, Outcome.UNCHANGED)
        entry = await entry_of(loaded, await read_passages(loaded, target), new, target)
        await target.index.replace(entry)
        return indexed(entry)
    except UnreadableError as unreadable:
        await target.forget(name)
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except OSError as fault:
        raise Unavailable(f"The document cannot be read now: {fault.strerror}.") from fault


async def _read(document: StoredDocument, store: DocumentStore) -> bytes:
    """All bytes of a version of a document; raise UnreadableError if there are too many, or none."""
    check_size(document.size)
    data = BytesIO()  # unlike joining pieces, this never holds the bytes twice
    async with aclosing(store.read(document)) as pieces:
        async for piece in pieces:
            data.write(piece)
    return data.getvalue()
