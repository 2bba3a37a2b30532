"""Documents in a folder that only this app writes; several processes of one machine may.

Beside the folder is another one with a note on each document that did not come from a folder of documents: who may see
it, by its ETag. A note is written before its document, and names the version before too, so that rights and bytes
change in one step, the rename. A document that its note does not know is for nobody.
"""

import asyncio
import errno
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path

import msgspec

from shared.chat_types import PartHealth
from shared.documents import NOBODY, Rights, StoredDocument, conflict, is_name
from shared.errors import BadRequest, Unavailable

_READ_BYTES = 64 * 1024
"""Bytes that are read at a time."""
_MOST_READ = 2
"""Pieces of documents that are read at the same time: what else needs a thread need not wait for many readers."""
_NAMES_TOGETHER = 500
"""Names that are read in one go."""
_FOUND_TOGETHER = 8
"""Documents of a list that are looked at in one go."""
_UNFINISHED = ".copy-"
"""Prefix of files that are being written."""
_MAX_WRITE_SECONDS = 3600.0
"""Age after which an unfinished copy counts as left by a killed process; writing takes seconds."""
_NO_SUCH_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""Errors that say that no file has this name, or can have it."""
_MAX_PART_BYTES = 255
"""Bytes of a part of a name. Source: Linux, `NAME_MAX`; macOS and Windows count about the same."""
_NO_NAME_HERE = (
    "No document can have this name in a folder: a part of it is over 255 bytes, is a document or a link itself, or is "
    "a folder. Choose another name."
)


class _Noted(msgspec.Struct, frozen=True):
    """What a note says of a version."""

    oids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    own: bool = True


_PLAIN, _UNKNOWN = _Noted(), _Noted(NOBODY.oids)
"""What holds of a document without a note, and of a version that its note does not name."""
_notes = msgspec.json.Decoder(dict[str, _Noted])


class FileStore:
    """A `DocumentStore` in a folder.

    Args:
        folder: Created at the first write. No link to a folder is followed, and none that leads out.
    """

    is_shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notes = folder.parent / f"{folder.name}-rights"
        self._is_swept = False
        self._reading = asyncio.Semaphore(_MOST_READ)

    async def find(self, name: str) -> StoredDocument | None:
        """Find a document; None if there is none."""
        return await _in_thread(lambda: self._find(name))

    async def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the bytes of a document; see `DocumentReader.read`."""
        end = document.size if length is None else start + length
        for offset in range(start, end, _READ_BYTES):
            size = min(_READ_BYTES, end - offset)
            async with self._reading:
                data = await _in_thread(lambda offset=offset, size=size: self._read(document, offset, size))
            yield data

    async def keep(
        self,
        name: str,
        data: bytes,
        replaces: StoredDocument | None = None,
        rights: Rights | None = None,
        *,
        own: bool = True,
    ) -> StoredDocument:
        """Write a document. The unfinished file lies beside the folder, so that no listing shows it."""
        if not is_name(name):
            raise ValueError("no document can have this name")
        if rights is None:
            rights = replaces.rights if replaces else Rights()
        return await _in_thread(lambda: self._keep(name, data, replaces, _Noted(rights.oids, rights.groups, own)))

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove a document if it exists in this version, and the folders that are empty then."""
        return await _in_thread(lambda: self._remove(name, etag)) if is_name(name) else True

    async def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """List the names that start with `prefix`."""
        within, _, _ = prefix.rpartition("/")
        if within and not is_name(within):
            return
        walked = _walk(self._folder / within, f"{within}/" if within else "")
        names = filter(lambda name: name.startswith(prefix), walked)
        while some := await _in_thread(lambda: [*islice(names, _NAMES_TOGETHER)]):
            for name in some:
                yield name

    async def find_all(
        self, after: str = "", wanted: Callable[[str], bool] | None = None
    ) -> AsyncGenerator[StoredDocument]:
        """List the documents that are wanted. Only as many are read as the caller takes."""
        names = filter(wanted, _walk(self._folder, after=after))

        def some() -> list[StoredDocument | None]:
            return [self._find(name) for name in islice(names, _FOUND_TOGETHER)]

        while found := await _in_thread(some):
            for document in filter(None, found):
                yield document

    async def check(self) -> PartHealth:
        """Always ready: the folder is created when it is needed."""
        detail = "Files in DATA_DIR. For a container of Azure Blob Storage set CONTENT_STORAGE__blobServiceUri."
        return PartHealth("embedded", ok=True, detail=detail, needed=False)

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _path(self, name: str) -> Path | None:
        """The file of this name; None if it can have none here, since a part is too long or a link.

        A link to a file of the folder counts as a file.
        """
        if not is_name(name) or max(len(part.encode()) for part in name.split("/")) > _MAX_PART_BYTES:
            return None
        root = self._folder.resolve()
        path = root / name
        if path.parent.resolve() != path.parent:
            return None
        return path if not path.is_symlink() or path.resolve().is_relative_to(root) else None

    def _find(self, name: str) -> StoredDocument | None:
        while True:
            etag, status = self._version(name)
            if status is None:
                return None
            noted = self._noted(name, etag)
            if noted != _UNKNOWN or self._version(name)[0] == etag:  # else it was replaced after the first look
                return _described(name, status, noted)

    def _version(self, name: str) -> tuple[str | None, os.stat_result | None]:
        """The ETag and the properties of a file; None if there is none."""
        path = self._path(name)
        try:
            status = path.stat() if path else None
        except OSError as fault:
            if fault.errno in _NO_SUCH_FILE:
                return None, None
            raise
        return (_etag(status), status) if status and stat.S_ISREG(status.st_mode) else (None, None)

    def _noted(self, name: str, etag: str | None) -> _Noted:
        """What is noted of this version of a document."""
        try:
            return _notes.decode(self._note_of(name).read_bytes()).get(etag or "", _UNKNOWN)
        except FileNotFoundError:
            return _PLAIN
        except msgspec.DecodeError:
            return _UNKNOWN

    def _note_of(self, name: str) -> Path:
        return self._notes / f"{hashlib.sha256(name.encode()).hexdigest()}.json"

    def _read(self, document: StoredDocument, offset: int, size: int) -> bytes:
        path = self._path(document.name)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            if path:
                with path.open("rb") as file:
                    is_this = _etag(os.fstat(file.fileno())) == document.etag
                    file.seek(offset)
                    if is_this and len(data := file.read(size)) == size:
                        return data
        raise Unavailable("The document was changed while it was read. Try again.")

    def _keep(self, name: str, data: bytes, replaces: StoredDocument | None, noted: _Noted) -> StoredDocument:
        with self._locked():
            if not self._is_swept:
                self._is_swept = True
                _sweep(self._folder.parent)
            there, _ = self._version(name)
            if there != (replaces and replaces.etag):
                raise conflict(replaces)
            target = self._path(name)
            if target is None or target.is_dir():
                raise BadRequest(_NO_NAME_HERE)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as fault:
                raise BadRequest(_NO_NAME_HERE) from fault
            with self._unfinished(data) as unfinished:
                status = unfinished.stat()
                before = {there: self._noted(name, there)} if there else {}
                if noted != _PLAIN or self._note_of(name).exists():
                    self._write_note(name, before | {_etag(status): noted})
                unfinished.replace(target)
        return _described(name, status, noted)

    def _write_note(self, name: str, note: dict[str, _Noted]) -> None:
        self._notes.mkdir(exist_ok=True)
        with self._unfinished(msgspec.json.encode(note)) as unfinished:
            unfinished.replace(self._note_of(name))

    @contextmanager
    def _unfinished(self, data: bytes) -> Generator[Path]:
        """Write a file beside the folder, which is to be renamed."""
        descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=self._folder.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 (it is open already)
                file.write(data)
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the lock that all writers of the folder take; the system frees it when a process dies."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _remove(self, name: str, etag: str | None) -> bool:
        if not self._folder.exists():
            return True
        with self._locked():
            target = self._path(name)
            there, _ = self._version(name)
            if target is None:
                return True
            if etag and there not in (None, etag):
                return False
            with suppress(FileNotFoundError, NotADirectoryError):
                target.unlink()
            self._note_of(name).unlink(missing_ok=True)
            for folder in list(target.parents)[: name.count("/")]:
                with suppress(OSError):  # not empty, or not there
                    folder.rmdir()
        return True


def _walk(folder: Path | str, root: str = "", after: str = "") -> Iterator[str]:
    """Yield the names of the files below a folder that are behind `after`, in order, with `root` before each.

    Links to folders are not followed.
    """
    try:
        changed = Path(folder).stat().st_mtime_ns
        # Two changes within a tick of the file system's clock have one time.
        listed = _kept_entries if time.time_ns() - changed > _TICK_NANOSECONDS else _entries
        names = listed(str(folder), changed)
    except OSError:  # it is gone, or may not be read
        return
    # Only the last entry up to `after` can be a folder with names behind it.
    for name in names[max(bisect_right(names, after) - 1, 0) :]:
        is_around = after.startswith(name)
        if name.endswith("/") and (is_around or name > after):
            yield from _walk(f"{folder}/{name[:-1]}", root + name, after[len(name) :] if is_around else "")
        elif name > after:
            yield root + name


def _entries(folder: str, _changed: int) -> list[str]:
    with os.scandir(folder) as entries:
        # With its slash, the name of a folder sorts as those of the files in it do.
        return sorted(f"{one.name}/" if one.is_dir() else one.name for one in entries if not _is_linked_folder(one))


_kept_entries = lru_cache(maxsize=1000)(_entries)
"""The entries of folders, which take a while to sort where they are many; by the time of the last change."""
_TICK_NANOSECONDS = 2 * 10**9
"""No file system's clock has a longer tick: two seconds is that of FAT."""


def _is_linked_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.is_symlink() and entry.is_dir()


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


def _etag(status: os.stat_result) -> str:
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'


def _described(name: str, status: os.stat_result, noted: _Noted) -> StoredDocument:
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return StoredDocument(name, status.st_size, _etag(status), modified, noted.own, Rights(noted.oids, noted.groups))
