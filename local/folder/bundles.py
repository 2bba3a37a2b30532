"""The files of a folder, read ahead of the work that writes them, and small ones a bundle at a time.

For a short note, a request to a process and a transaction take longer than reading and writing the note itself.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from copy import replace
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

import msgspec

from local.folder import FoundFile, read_file
from shared.documents import Rights, StoredDocument, md5_of
from shared.errors import SwitchboardError
from shared.ingestion.document import (
    LoadedDocument,
    Origin,
    ReadPassages,
    Target,
    has_same_content,
    passages_in,
    read_passages,
)
from shared.ingestion.passages import MAX_PASSAGES
from shared.reading import UnreadableError
from shared.reading.limits import ReadLimitError
from shared.reading.sandbox import ERRORS, PLAIN_TEXT, Sandbox
from shared.reading.sandbox_messages import Refused, TextsSplit

_MAX_BUNDLES_AHEAD = max(2, min((os.process_cpu_count() or 1) + 1, 4))
"""Bundles in memory, with their text: one that is written, and one that is read for each core, two to four in all."""
_MAX_BUNDLE_BYTES = 128 * 1024
"""Bytes of a bundle of several files."""
_MAX_BUNDLE_FILES = 64
"""Files of such a bundle."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of a folder that has been read."""

    document: LoadedDocument
    """Its name and bytes, and the rights of its copy."""
    fingerprint: str
    """The fingerprint of its entry."""
    copy: StoredDocument | None
    """What the store has of it."""
    passages: ReadPassages | None = None
    """Its passages; None if its entry in the index is up to date."""

    @property
    def has_copy(self) -> bool:
        """Whether the store has a copy of this version."""
        return self.copy is not None and self.copy.md5 in (None, self.document.version)


type Reading = ReadFile | Exception
"""A file of a folder, or why it was not read."""


async def bundles_of(files: AsyncGenerator[FoundFile], target: Target) -> AsyncGenerator[list[FoundFile]]:
    """Divide files into bundles, in order. Only small files of plain text, which need no service, share one."""
    bundle: list[FoundFile] = []
    size = 0
    async for found in files:
        is_small = found.size <= _MAX_BUNDLE_BYTES and _is_plain(found.sourcefile) and not target.embedder
        if bundle and not (is_small and size + found.size <= _MAX_BUNDLE_BYTES and len(bundle) < _MAX_BUNDLE_FILES):
            yield bundle
            bundle, size = [], 0
        bundle.append(found)
        size += found.size if is_small else _MAX_BUNDLE_BYTES
    if bundle:
        yield bundle


async def read_ahead(
    bundles: AsyncGenerator[Sequence[FoundFile]], target: Target
) -> AsyncGenerator[tuple[Sequence[FoundFile], asyncio.Task[list[Reading]]]]:
    """Yield each bundle with the task that reads it, in order, while the next ones are read already.

    Only reading goes ahead: entries get into the index in the order of the files, whatever takes longer.

    Args:
        bundles: The files.
        target: Where they go.
    """
    tasks: deque[tuple[Sequence[FoundFile], asyncio.Task[list[Reading]]]] = deque()
    try:
        while True:
            while len(tasks) < _MAX_BUNDLES_AHEAD and (bundle := await anext(bundles, None)):
                tasks.append((bundle, asyncio.create_task(_read(bundle, target))))
            if not tasks:
                return
            yield tasks.popleft()
    finally:
        for _, task in tasks:
            task.cancel()
        await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)


def _is_plain(name: str) -> bool:
    """Whether no parser reads a file, so that one reader can read it together with others."""
    return PurePosixPath(name).suffix.lower() in PLAIN_TEXT


async def _read(bundle: Sequence[FoundFile], target: Target) -> list[Reading]:
    """Read the files of a bundle, and the passages of those that are new or changed."""
    copies = [await _copy(found.sourcefile, target) if found.is_stored else None for found in bundle]
    loaded = await asyncio.to_thread(lambda: [*map(partial(_load, target), bundle, copies)])
    new = [
        file.document
        for found, file in zip(bundle, loaded, strict=True)
        if isinstance(file, ReadFile) and not has_same_content(found.known, file.fingerprint)
    ]
    passages = dict(zip((document.name for document in new), await _passages(new, target), strict=True))
    return [_with_passages(file, passages) for file in loaded]


def _with_passages(file: Reading, passages: Mapping[str, ReadPassages | Exception]) -> Reading:
    """A file with its passages, which are there if it is new or changed."""
    if isinstance(file, Exception):
        return file
    found = passages.get(file.document.name)
    return found if isinstance(found, Exception) else replace(file, passages=found)


async def _copy(name: str, target: Target) -> StoredDocument | SwitchboardError | None:
    try:
        return await target.documents.find(name)
    except SwitchboardError as fault:
        return fault


def _load(target: Target, found: FoundFile, copy: StoredDocument | SwitchboardError | None) -> Reading:
    """Load a file, and compute the fingerprint of its entry."""
    if isinstance(copy, SwitchboardError):
        return copy
    try:
        data = read_file(found.path)
    except (UnreadableError, OSError) as fault:
        return fault
    document = LoadedDocument(found.sourcefile, data, Origin.FOLDER, md5_of(data), copy.rights if copy else Rights())
    return ReadFile(document, target.fingerprint_of(document), copy)


async def _passages(documents: Sequence[LoadedDocument], target: Target) -> Sequence[ReadPassages | Exception]:
    """The passages of the documents of a bundle, or why they cannot be read."""
    try:
        if documents and _is_plain(documents[0].name):
            return await _read_plain_texts(documents, target)
        return [await read_passages(document, target) for document in documents]
    except Exception as fault:  # noqa: BLE001 (odd content can make any library raise anything)
        return [fault] * len(documents)


async def _read_plain_texts(
    documents: Sequence[LoadedDocument], target: Target
) -> Sequence[ReadPassages | UnreadableError]:
    """Read documents of plain text together, and split each into passages.

    Returns:
        For each document its passages, or why it cannot be read.
    """
    files = [(document.name, document.data) for document in documents]
    found = await split_files(target.sandbox, files, MAX_PASSAGES, terms=target.index.stores_terms)
    return [
        one if isinstance(one, UnreadableError) else passages_in(document, [None], one, one.left_out)
        for document, one in zip(documents, found, strict=True)
    ]


async def split_files(
    sandbox: Sandbox, files: Sequence[tuple[str, bytes]], limit: int, *, terms: bool = False
) -> list[TextsSplit | UnreadableError]:
    """Have one reader read files of plain text, and split each.

    Args:
        sandbox: Has the reader.
        files: Their names and bytes. Small files take a fraction of the time together.
        limit: As for `chunks_of`, for each file.
        terms: As in `Sandbox.split`.

    Returns:
        For each file its chunks, or why it cannot be read.

    Raises:
        Unavailable: too many files are read now, or no process can be started.
    """
    names, data = [name for name, _ in files], msgspec.msgpack.encode([file for _, file in files])
    kind = list[TextsSplit | Refused]
    try:
        found = await sandbox.run(kind, "split files", data, names, limit, terms, sandbox.limits)
    except ReadLimitError as error:
        if len(files) == 1:
            return [error]
        # One of them takes too much: the others must not fail for it.
        return [(await split_files(sandbox, [file], limit, terms=terms))[0] for file in files]
    return [ERRORS[one.kind](one.reason) if isinstance(one, Refused) else one for one in found]
