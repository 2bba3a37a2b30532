"""Documents in a folder that only this app writes."""

import asyncio
import errno
import os
import stat
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from shared.chat_types import PartHealth
from shared.documents import Rights, StoredDocument, is_name
from shared.errors import Unavailable

_READ_BYTES = 64 * 1024
"""Bytes that are read at a time."""
_UNFINISHED = ".copy-"
"""Prefix of files that are being written."""
_MAX_WRITE_SECONDS = 3600.0
"""Age after which an unfinished copy counts as left by a killed process; writing takes seconds."""
_NO_SUCH_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""Errors that say that no file has this name, or can have it."""


class FileStore:
    """A `DocumentStore` in a folder. It stores no rights: its documents name nobody.

    Args:
        folder: Created at the first write. Links that lead out of it are not followed.
    """

    is_shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_swept = False

    async def find(self, name: str) -> StoredDocument | None:
        """Find a document; None if there is none."""
        return await _in_thread(lambda: self._find(name))

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the bytes of a document.

        Raises:
            Unavailable: the document has changed, or cannot be read.
        """
        end = document.size if length is None else start + length
        for offset in range(start, end, _READ_BYTES):
            size = min(_READ_BYTES, end - offset)
            yield await _in_thread(lambda offset=offset, size=size: self._read(document, offset, size))

    async def keep(self, name: str, data: bytes, rights: Rights | None = None, *, own: bool = True) -> None:  # noqa: ARG002 (files have neither)
        """Write a document. The unfinished file lies beside the folder, so that no listing shows it."""
        if not is_name(name):
            raise ValueError("no document can have this name")
        await _in_thread(lambda: self._keep(name, data))

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove a document if it exists in this version, and the folders that are empty then."""
        return await _in_thread(lambda: self._remove(name, etag)) if is_name(name) else True

    async def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """List the names that start with `prefix`."""
        for name in await _in_thread(lambda: self._names(prefix)):
            yield name

    async def find_all(self) -> AsyncGenerator[StoredDocument]:
        """List all documents."""
        async for name in self.names():
            if document := await self.find(name):
                yield document

    async def check(self) -> PartHealth:
        """Always ready: the folder is created when it is needed."""
        detail = "Files in DATA_DIR. For a container of Azure Blob Storage set CONTENT_STORAGE__blobServiceUri."
        return PartHealth("embedded", ok=True, detail=detail, needed=False)

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _path(self, name: str) -> Path | None:
        """The file of this name with links resolved; None if it is outside of the folder."""
        if not is_name(name):
            return None
        root = self._folder.resolve()
        path = (root / name).resolve()
        return path if path.is_relative_to(root) else None

    def _find(self, name: str) -> StoredDocument | None:
        try:
            path = self._path(name)
            status = path.stat() if path else None
        except OSError as fault:
            if fault.errno in _NO_SUCH_FILE:
                return None
            raise
        return _described(name, status) if status and stat.S_ISREG(status.st_mode) else None

    def _read(self, document: StoredDocument, offset: int, size: int) -> bytes:
        path = self._path(document.name)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            if path:
                with path.open("rb") as file:
                    is_this = _described(document.name, os.fstat(file.fileno())).etag == document.etag
                    file.seek(offset)
                    if is_this and len(data := file.read(size)) == size:
                        return data
        raise Unavailable("The document was changed while it was read. Try again.")

    def _keep(self, name: str, data: bytes) -> None:
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not self._is_swept:
            self._is_swept = True
            _sweep(self._folder.parent)
        descriptor, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=self._folder.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 (it is open already)
                file.write(data)
            os.replace(unfinished, target)  # noqa: PTH105 (both are in hand as they are)
        finally:
            Path(unfinished).unlink(missing_ok=True)

    def _remove(self, name: str, etag: str | None) -> bool:
        if etag and (found := self._find(name)) and found.etag != etag:
            return False
        target = self._folder / name
        with suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()
        for folder in target.parents:
            if folder == self._folder:
                break
            with suppress(OSError):  # not empty, or not there
                folder.rmdir()
        return True

    def _names(self, prefix: str) -> list[str]:
        within, _, _ = prefix.rpartition("/")
        if within and not is_name(within):
            return []
        files = (
            (Path(current) / file).relative_to(self._folder).as_posix()
            for current, _, found in os.walk(self._folder / within)
            for file in found
        )
        return sorted(name for name in files if name.startswith(prefix))


def _sweep(folder: Path) -> None:
    """Remove unfinished copies that a killed process has left; other processes may be writing theirs now."""
    oldest = time.time() - _MAX_WRITE_SECONDS
    for copy in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):  # another process has finished or removed it
            if copy.stat().st_mtime < oldest:
                copy.unlink()


async def _in_thread[T](work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as fault:
        raise Unavailable(f"The folder of documents cannot be used: {fault.strerror}. Check DATA_DIR.") from fault


def _described(name: str, status: os.stat_result) -> StoredDocument:
    etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'
    return StoredDocument(name, status.st_size, etag, datetime.fromtimestamp(status.st_mtime, UTC), kept=True)
