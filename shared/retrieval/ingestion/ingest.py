"""The ingestion of a folder: what is new or changed is indexed, what is gone is removed, the rest is left alone."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.chat_types import Passage
from shared.errors import SwitchboardError
from shared.retrieval import Embedder, PassageIndex
from shared.retrieval.ingestion.copies import has_copy, keep_copy, remove_copy, remove_unknown_copies
from shared.retrieval.ingestion.embedding import embed_passages
from shared.retrieval.ingestion.folder import Found, Listing, list_folder
from shared.retrieval.ingestion.pages import UnreadableError
from shared.retrieval.ingestion.readers import read_pages
from shared.retrieval.ingestion.reports import FileReport, IngestReport, Outcome, Reporter

_VERSION = "1"
"""Of what readers and splitter make of the same bytes; a new one indexes every file again."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Where passages go."""

    index: PassageIndex
    embedder: Embedder | None
    content_dir: Path
    known: Mapping[str, str]
    """The fingerprint of each file in the index."""


async def ingest_folder(
    folder: Path, index: PassageIndex, embedder: Embedder | None, content_dir: Path, reporter: Reporter
) -> IngestReport:
    """Make the index hold the documents of `folder`, and `content_dir` a copy of each, and nothing else.

    Each file is read, embedded and written on its own, so an interruption loses nothing that was finished. A file
    that cannot be indexed is reported as failed and the others still are: if there is no text to be had from it
    any more, what the index held of it is removed; if it was a fault of the moment (the disk, the embedding
    service), that stays.

    Raises:
        SwitchboardError: the index cannot be used at all.
    """
    listing = await asyncio.to_thread(list_folder, folder, content_dir)
    target = _Target(index, embedder, content_dir, dict(await index.fingerprints()))
    await asyncio.to_thread(remove_unknown_copies, content_dir, target.known)
    gone = _gone(listing, target.known)
    reports: list[FileReport] = []

    def report(file: FileReport) -> None:
        reports.append(file)
        reporter.finished(file)

    reporter.started(len(gone) + len(listing.others) + len(listing.files))
    for name in gone:
        await _remove(name, target)
        report(FileReport(name, Outcome.REMOVED))
    for other in listing.others:
        report(other)
    for found in listing.files:
        reporter.reading(found.sourcefile)
        report(await _ingest_file(found, target))
    return IngestReport(tuple(reports))


def _gone(listing: Listing, known: Iterable[str]) -> list[str]:
    present = {found.sourcefile for found in listing.files}
    closed = tuple(listing.closed_folders)
    return sorted(name for name in known if name not in present and not name.startswith(closed))


async def _ingest_file(found: Found, target: _Target) -> FileReport:
    name = found.sourcefile
    try:
        fingerprint = await asyncio.to_thread(_fingerprint, found.path, target.embedder)
        if target.known.get(name) == fingerprint:
            await asyncio.to_thread(_restore_copy, found, target.content_dir)
            return FileReport(name, Outcome.UNCHANGED)
        passages = await asyncio.to_thread(_read_passages, found)
        vectors = await embed_passages(target.embedder, passages) if target.embedder else None
        await asyncio.to_thread(keep_copy, found.path, target.content_dir, name)
        await target.index.replace(name, fingerprint, passages, vectors)
    except UnreadableError as unreadable:
        if name in target.known:
            await _remove(name, target)
        return FileReport(name, Outcome.FAILED, str(unreadable))
    except OSError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.strerror}.")
    except SwitchboardError as fault:
        return FileReport(name, Outcome.FAILED, f"cannot be indexed now: {fault.message}")
    return FileReport(name, Outcome.INDEXED, f"{len(passages)} passage{'s' if len(passages) > 1 else ''}")


def _fingerprint(path: Path, embedder: Embedder | None) -> str:
    """A hash of all that the index's entry of a file depends on."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(f"\0{_VERSION}\0{embedder.model if embedder else ''}".encode())
    return digest.hexdigest()


def _read_passages(found: Found) -> list[Passage]:
    from shared.retrieval.ingestion.splitting import split

    return split(found.sourcefile, read_pages(found.path))


def _restore_copy(found: Found, content_dir: Path) -> None:
    if not has_copy(content_dir, found.sourcefile):
        keep_copy(found.path, content_dir, found.sourcefile)


async def _remove(name: str, target: _Target) -> None:
    await asyncio.to_thread(remove_copy, target.content_dir, name)
    await target.index.remove(name)
