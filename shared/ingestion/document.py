"""What becomes of one document: its passages, their vectors, images of its pages, and a fingerprint.

A fingerprint is an origin (`folder:` or `stored:`) and two hashes: one of the document's bytes, and one of its version,
which the store knows without reading the bytes. Both hashes include everything else that the entry depends on. The
origin decides who may remove an entry: the ingestion of a folder removes only documents from a folder, and following
the store removes only documents that others put there. Entries with other fingerprints, or none, belong to others.
"""

import asyncio
import hashlib
import re
from collections.abc import Collection, Sequence
from copy import replace
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import batched, chain
from pathlib import PurePosixPath
from typing import NamedTuple
from weakref import WeakValueDictionary

from shared.chat_types import Passage
from shared.documents import DocumentStore, Rights, StoredDocument, is_hidden, is_name
from shared.documents.own import PEOPLE
from shared.errors import SwitchboardError
from shared.ingestion import FileReport, Outcome
from shared.ingestion.page_images import PageImages
from shared.ingestion.passages import MAX_PASSAGES, passages_of
from shared.outbound.asking import all_answers
from shared.reading import UnreadableError
from shared.reading.readers import OLD_FORMATS, SCAN_SUFFIXES, TextRecognition, read_document, readable_suffixes
from shared.reading.sandbox import Sandbox, sandbox_for_documents
from shared.reading.sandbox_messages import TextsSplit
from shared.retrieval import Embedder, FileEntry, PassageIndex, PassageTerms, parts_of

_EMBEDDING_BATCH = 64
"""Texts in one call of the embedder: with 500 tokens each, well below the limits of services."""
_EMBEDDING_CALLS = 4
"""Calls of the embedder at the same time."""
_FORMAT_VERSION = "13"
"""Version of what readers and splitter make of the same bytes. A new one indexes every document again."""
_FINGERPRINT = re.compile(r"\w+:([0-9a-f]{64}):([0-9a-f]{64})")
"""A finished entry. An index may append a note to the fingerprint of an unfinished one."""
NO_NAME = (
    "has a name that no link can lead to: with a control character such as a line break, a backslash, an empty part, "
    "`.` or `..`, or more than 1,024 characters; rename it."
)
"""Why a name is none of a document."""


class Origin(StrEnum):
    """Where a document came from."""

    FOLDER = "folder"
    """The ingestion of a folder, which keeps a copy in the store."""
    STORED = "stored"
    """Others put it into the store."""


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A document in memory, with everything that its fingerprint depends on."""

    name: str
    """Its `sourcefile`."""
    data: bytes = field(repr=False)
    """Its bytes. The hashes, the text, the images and the copy are all made of these."""
    origin: Origin
    """Where it came from."""
    version: str
    """Its `StoredDocument.version`."""
    rights: Rights
    """Who may see it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts that ingestion writes to and works with. The caller that made it closes it."""

    index: PassageIndex
    """Receives the passages."""
    embedder: Embedder | None
    """Computes the vectors of passages; None: passages have no vectors."""
    documents: DocumentStore
    """Keeps the documents, and knows who may see them."""
    pages: PageImages | None = None
    """Keeps images of the pages; None: there are no images."""
    recognition: TextRecognition | None = None
    """Reads scans; None: documents without text cannot be read."""
    sandbox: Sandbox = field(default_factory=sandbox_for_documents)
    """Reads the documents, splits their text, and renders their pages."""
    own_sandbox: Sandbox | None = None
    """Does that to documents that people have added for themselves; None: they are as all others."""
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])

    def lock(self, name: str) -> asyncio.Lock:
        """The lock of a document, so that one task of this process changes it at a time."""
        return self._locks.setdefault(name, asyncio.Lock())

    def sandbox_of(self, name: str) -> Sandbox:
        """The sandbox of a document, in which its owner has a share if it is somebody's own."""
        if self.own_sandbox is None or not name.startswith(PEOPLE):
            return self.sandbox
        return self.own_sandbox.of(name.split("/")[1])

    @property
    def formats(self) -> tuple[str, ...]:
        """Suffixes of the documents that can be read."""
        return readable_suffixes(recognized=self.recognition is not None)

    def fingerprint_of(self, document: LoadedDocument) -> str:
        """Fingerprint of a document's entry. Takes a while for large documents: call it in a thread."""
        dependencies = self._dependencies(document.name, document.rights)
        content = hashlib.sha256(document.data).hexdigest()
        return f"{document.origin}:{_hash(content, dependencies)}:{_hash(document.version, dependencies)}"

    def is_current(self, known: str | None, document: StoredDocument) -> bool:
        """Whether the entry with this fingerprint is up to date. If False, compare the bytes."""
        dependencies = self._dependencies(document.name, document.rights)
        found = _FINGERPRINT.fullmatch(known or "")
        if found is None or not is_from(origin_of(document), found[0]):
            return False
        return found[2] == _hash(document.version, dependencies)

    def _dependencies(self, name: str, rights: Rights) -> list[str]:
        """Everything besides the bytes that a document's entry depends on."""
        parts = [self.embedder.model if self.embedder else "", *rights.oids, "", *rights.groups]
        suffix = _suffix(name)
        if suffix in (".pdf", *SCAN_SUFFIXES) and self.recognition:
            parts.append(self.recognition.model)
        if suffix == ".pdf" and self.pages and self.pages.kind:
            parts.append(self.pages.kind)
        return parts

    async def forget(self, name: str) -> None:
        """Remove a document's images and passages. The index comes last: it says what is left to do."""
        if self.pages:
            await self.pages.remove(name)
        await self.index.remove(name)

    async def aclose(self) -> None:
        """Close all parts."""
        await self.index.aclose()
        for part in (self.embedder, self.documents, self.pages, self.recognition):
            if part:
                await part.aclose()


class ReadPassages(NamedTuple):
    """The passages of a document."""

    passages: list[Passage]
    """All of them, in order."""
    terms: list[PassageTerms] | None
    """The terms of each, if the index stores terms and they have been made already."""
    left_out: str = ""
    """What of the document was not read; empty: nothing that is known."""


async def read_passages(document: LoadedDocument, target: Target) -> ReadPassages:
    """Read a document and split it into passages.

    Raises:
        UnreadableError: the document is damaged, protected, too large, or holds no text or too much.
    """
    sandbox = target.sandbox_of(document.name)
    pages, left_out, stated = await read_document(document.data, _suffix(document.name), target.recognition, sandbox)
    texts = [page.text for page in pages]
    split = await sandbox.split(document.name, texts, MAX_PASSAGES, terms=target.index.stores_terms)
    # In a thread: a long document takes a tenth of a second.
    numbers = [page.number for page in pages]
    return await asyncio.to_thread(passages_in, document, numbers, replace(split, stated=stated), left_out)


def passages_in(
    document: LoadedDocument, numbers: Sequence[int | None], split: TextsSplit, left_out: str = ""
) -> ReadPassages:
    """Make the passages of a document, whose pages have these numbers and were split so."""
    passages = passages_of(document.name, split.title, numbers, split.chunks, document.rights, split.stated)
    return ReadPassages(passages, split.terms, left_out)


async def entry_of(document: LoadedDocument, read: ReadPassages, known: str, target: Target) -> FileEntry:
    """Make a document's entry in the index: vectors, and images of its pages.

    Args:
        document: The document.
        read: Its passages.
        known: Its fingerprint.
        target: Where it goes.

    Raises:
        UnreadableError: its pages cannot be rendered.
    """
    name, (passages, terms, left_out) = document.name, read
    vectors = owners = None
    if target.embedder:
        texts: Sequence[str] = [passage.whole for passage in passages]
        # Only the built-in index, which ranks by its own terms, has several vectors of a passage.
        if target.index.stores_terms and (size := target.embedder.part_size):
            parts = await asyncio.to_thread(parts_of, texts, size)
            owners, texts = [place for place, _ in parts], [text for _, text in parts]
        vectors = await _embed(target.embedder, texts)
    pictured = target.pages if _suffix(name) == ".pdf" else None
    image_vectors = await pictured.replace(document.data, passages, target.sandbox_of(name)) if pictured else None
    return FileEntry(name, known, passages, vectors, image_vectors, terms, left_out, owners)


def indexed(entry: FileEntry) -> FileReport:
    """Report on a document that has been written to the index."""
    number = len(entry.passages)
    left_out = f"; not read: {entry.left_out}" if entry.left_out else ""
    detail = f"{number} passage{'s' if number > 1 else ''}{left_out}"
    return FileReport(entry.sourcefile, Outcome.INDEXED, detail, number, entry.left_out)


def failed(name: str, fault: object) -> FileReport:
    """Report why a document is not indexed."""
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


def not_indexed(name: str, formats: Collection[str]) -> FileReport | None:
    """Report on a document that is not indexed because of its name; None if it is indexed.

    Args:
        name: Its path.
        formats: Suffixes of the documents that can be read.
    """
    if not is_name(name):
        return FileReport(name, Outcome.FAILED, NO_NAME)
    if is_hidden(name):
        return FileReport(name, Outcome.SKIPPED, "is hidden.")
    if (suffix := PurePosixPath(name).suffix.lower()) not in formats:
        reason = OLD_FORMATS.get(suffix) or f"has no format that can be read ({', '.join(formats)})."
        return FileReport(name, Outcome.SKIPPED, reason)
    return None


def origin_of(document: StoredDocument) -> Origin:
    """Where a stored document came from."""
    return Origin.FOLDER if document.kept else Origin.STORED


def is_from(origin: Origin, known: str) -> bool:
    """Whether a fingerprint belongs to a document of this origin."""
    return known.startswith(f"{origin}:")


def has_same_content(known: str | None, other: str) -> bool:
    """Whether two fingerprints stand for the same bytes and dependencies, whatever the origin."""
    first, second = _FINGERPRINT.fullmatch(known or ""), _FINGERPRINT.fullmatch(other)
    return first is not None and second is not None and first[1] == second[1]


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


async def _embed(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """Compute one vector for each text, in order."""
    slots = asyncio.Semaphore(_EMBEDDING_CALLS)

    async def embed(batch: Sequence[str]) -> list[list[float]]:
        async with slots:
            return await embedder.embed(batch)

    vectors = await all_answers(embed(batch) for batch in batched(texts, _EMBEDDING_BATCH, strict=False))
    return list(chain.from_iterable(vectors))


def _hash(text: str, dependencies: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((text, _FORMAT_VERSION, *dependencies)).encode()).hexdigest()
