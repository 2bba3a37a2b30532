"""The ingestion of one document, from a file of a folder or from where documents are kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory

from shared.chat_types import Passage
from shared.documents import DocumentStore, Rights, StoredDocument
from shared.errors import SwitchboardError, Unavailable
from shared.ingestion.embedding import embed_passages
from shared.ingestion.fingerprints import Origin, fingerprint, is_of, is_of_version, is_same
from shared.ingestion.naming import why_not
from shared.ingestion.page_images import PageImages
from shared.ingestion.reports import FileReport, Outcome
from shared.reading.pages import Page, UnreadableError
from shared.reading.readers import check_size
from shared.reading.scans import SCANS, TextRecognition, formats, read_document
from shared.retrieval import Embedder, PassageIndex

_TRIES = 3
"""How often a document is indexed again because it has changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where documents go. Whoever opened it closes it."""

    index: PassageIndex
    """Gets their passages."""
    embedder: Embedder | None
    """Makes the passages' vectors; None: they have none."""
    documents: DocumentStore
    """Keeps the documents themselves, and knows who may see them."""
    pages: PageImages | None = None
    """Keeps images of their pages; None: nothing does."""
    recognition: TextRecognition | None = None
    """Reads scans; None: what holds no text cannot be read."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of what can be read."""
        return formats(recognized=self.recognition is not None)

    def mark(self, origin: Origin, path: Path, rights: Rights, version: str) -> str:
        """The fingerprint of a document of this version that lies in a file. Reads it: call it in a thread.

        Raises:
            OSError: the file cannot be read.
        """
        return fingerprint(origin, path, version, self._depends_on(path, rights))

    def is_current(self, mark: str | None, document: StoredDocument) -> bool:
        """Whether a fingerprint is of a document as it is now; if not, only its bytes tell whether it has changed."""
        more = self._depends_on(PurePosixPath(document.name), document.rights)
        return is_of_version(_origin(document), mark, document.version, more)

    def _depends_on(self, name: PurePath, rights: Rights) -> list[str]:
        """What a document's entry depends on besides its bytes."""
        parts = [self.embedder.model if self.embedder else "", *rights.oids, "", *rights.groups]
        suffix = name.suffix.lower()
        if suffix in (".pdf", *SCANS) and self.recognition:
            parts.append(self.recognition.model)
        if suffix == ".pdf" and self.pages and self.pages.kind:
            parts.append(self.pages.kind)
        return parts

    async def forget(self, name: str) -> None:
        """Remove what was made of a document, from the index last.

        Raises:
            SwitchboardError: a fault of the moment.
        """
        if self.pages:
            await self.pages.remove(name)
        await self.index.remove(name)

    async def aclose(self) -> None:
        """Close all of it."""
        await self.index.aclose()
        for part in (self.embedder, self.documents, self.pages, self.recognition):
            if part:
                await part.aclose()


async def ingest_stored(name: str, target: Target) -> FileReport:
    """Make the index hold the document of this name as the store has it now, or forget it if it is not there.

    What cannot be read is reported as failed, and nothing of it stays in the index. It may be called again at any
    time and by several at once: the last one to write finds what is in the store then.

    Raises:
        SwitchboardError: a fault of the moment: what the index had of it stays, and it is to be tried again.
    """
    if reason := why_not(name, target.formats):
        return FileReport(name, Outcome.SKIPPED, reason)
    for _ in range(_TRIES):
        document = await target.documents.find(name)
        try:
            report = await _make_so(name, document, target)
        except SwitchboardError:
            if await target.documents.find(name) == document:
                raise
        else:
            if await target.documents.find(name) == document:
                return report
    raise Unavailable("The document is changed again and again while it is indexed.")


async def index_document(name: str, path: Path, mark: str, rights: Rights, target: Target, *, keep: bool) -> FileReport:
    """Put a document's passages in place of its old ones.

    The index is changed after the copy: an ingestion that is interrupted between the two finds the index behind, and
    does the document again.

    Args:
        name: Its name in the index.
        path: The file that holds it, with the suffix of its format.
        mark: Its fingerprint.
        rights: Who may see it.
        target: Where it goes.
        keep: Whether a copy goes into the store of documents.

    Raises:
        UnreadableError: there is no text to be had from it.
        OSError, SwitchboardError: a fault of the moment.
    """
    pages = await read_document(path, target.recognition)
    passages = await asyncio.to_thread(_split, name, pages, rights)
    vectors = await embed_passages(target.embedder, passages) if target.embedder else None
    if keep:
        await target.documents.keep(name, path)
    pictured = target.pages if path.suffix.lower() == ".pdf" else None
    image_vectors = await pictured.replace(path, passages) if pictured else None
    await target.index.replace(name, mark, passages, vectors, image_vectors)
    return FileReport(name, Outcome.INDEXED, f"{len(passages)} passage{'s' if len(passages) > 1 else ''}")


async def _make_so(name: str, document: StoredDocument | None, target: Target) -> FileReport:
    if document:
        return await _ingest_found(document, target)
    await target.forget(name)
    return FileReport(name, Outcome.REMOVED)


async def _ingest_found(document: StoredDocument, target: Target) -> FileReport:
    name = document.name
    try:
        with TemporaryDirectory(prefix="switchboard-") as folder:
            path = Path(folder, f"document{PurePosixPath(name).suffix}")
            await _download(document, path, target.documents)
            origin = _origin(document)
            mark = await asyncio.to_thread(target.mark, origin, path, document.rights, document.version)
            known = (await target.index.fingerprints(name)).get(name, "")
            if is_same(known, mark) and is_of(origin, known):
                return FileReport(name, Outcome.UNCHANGED)
            return await index_document(name, path, mark, document.rights, target, keep=False)
    except UnreadableError as unreadable:
        await target.forget(name)
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except OSError as fault:
        raise Unavailable(f"The document cannot be read now: {fault.strerror}.") from fault


def _origin(document: StoredDocument) -> Origin:
    return Origin.FOLDER if document.kept else Origin.STORED


async def _download(document: StoredDocument, path: Path, store: DocumentStore) -> None:
    """Write a document's bytes to a file: those of this version, or an error.

    Raises:
        UnreadableError: they are too many, or none.
    """
    check_size(document.size)
    with path.open("wb") as file:
        async for piece in store.read(document):
            await asyncio.to_thread(file.write, piece)


def _split(name: str, pages: Sequence[Page], rights: Rights) -> list[Passage]:
    from shared.ingestion.splitting import split

    passages = split(name, pages)
    return [replace(passage, oids=rights.oids, groups=rights.groups) for passage in passages]
