"""A document that a caller uploads into the index, or deletes from it.

Where the documents are in a container, its trigger or the next sync indexes them, as all that others put there. Else
they are indexed here, and count as put there by others: the ingestion of a folder removes only what came from a folder.
"""

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from shared.documents import Rights, md5_of
from shared.errors import AlreadyThere, BadRequest, SwitchboardError
from shared.ingestion import FileReport, Outcome
from shared.ingestion.document import LoadedDocument, Target, entry_of, indexed, read_passages
from shared.ingestion.fingerprints import Origin
from shared.ingestion.folder import not_indexed
from shared.reading import UnreadableError

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""One lock per document that is being written here, so that no two uploads of a name run at the same time."""


def lock_of(name: str) -> asyncio.Lock:
    """The lock of a document, by its name."""
    return _locks.setdefault(name, asyncio.Lock())


def check_name(name: str, target: Target) -> None:
    """Check that a document of this name can be indexed.

    Raises:
        BadRequest: it cannot; says why.
    """
    if report := not_indexed(name, target.formats):
        raise BadRequest(f"The document {report.detail}")


async def check_free(name: str, target: Target) -> None:
    """Check that there is no document of this name.

    Raises:
        AlreadyThere: there is one.
    """
    if await target.documents.find(name):
        raise AlreadyThere("There is a document of this name already. Choose another name, or say that it is replaced.")


async def upload(name: str, data: bytes, rights: Rights, target: Target, step: Callable[[str], None]) -> FileReport:
    """Index a document, and keep it. What goes wrong is reported, not raised.

    Args:
        name: Its name, which `check_name` accepts.
        data: Its bytes.
        rights: Who may see it.
        target: Where it goes: a folder and an index of this machine.
        step: Told of each step when it begins: `reading`, `embedding`, `writing`.
    """
    document = LoadedDocument(name, data, Origin.STORED, await asyncio.to_thread(md5_of, data), rights)
    try:
        async with lock_of(name):
            step("reading")
            read = await read_passages(document, target)
            known = await asyncio.to_thread(target.fingerprint_of, document)
            step("embedding")
            entry = await entry_of(document, read, known, target, keep=True)
            step("writing")
            await target.index.replace(entry)
            return indexed(entry)
    except UnreadableError as unreadable:
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")


async def delete(name: str, target: Target) -> None:
    """Delete a document, its images and its passages.

    Raises:
        SwitchboardError: a service fails now.
    """
    async with lock_of(name):
        await target.documents.remove(name)
        await target.forget(name)
