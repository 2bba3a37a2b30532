"""Objects in a folder: the built-in store. Several processes of one machine may use it.

A write holds the folder's lock from the look at the version to the rename, so that of two writers one gets a conflict.
"""

import asyncio
import fcntl
import hashlib
import math
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager, suppress
from itertools import batched
from pathlib import Path
from secrets import token_hex

from shared.errors import Unavailable
from shared.runs import NEW, Conflict, New, Stored

_UNFINISHED, _LOCK = ".unfinished-", ".lock"
_MAX_WRITE_SECONDS = 60 * 60
"""An unfinished copy that is older was left by a process that was killed."""
_LISTED_TOGETHER = 500
"""Names that are listed without a pause."""


class FolderObjects:
    """An `ObjectStore` in a folder, which is made when the first object is written.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, name: str) -> Stored | None:
        """Read an object; None if there is none."""
        return await _in_thread(lambda: self._read(name))

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        """Write an object whole, if its version is the expected one.

        Raises:
            Conflict: it is another one.
        """
        return await _in_thread(lambda: self._write(name, data, etag))

    async def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        await _in_thread(lambda: self._delete(name))

    async def names(self, prefix: str = "", *, before: float | None = None) -> AsyncGenerator[str]:
        """List the names that begin with `prefix`, of objects that were last written before a Unix time."""
        for together in batched(await _in_thread(lambda: self._names(prefix, before)), _LISTED_TOGETHER, strict=False):
            await asyncio.sleep(0)  # others have their turn
            for name in together:
                yield name

    def _read(self, name: str) -> Stored | None:
        try:
            data = (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stored(data, _etag(data))

    def _write(self, name: str, data: bytes, etag: str | New) -> str:
        target = self._folder / name
        with self._locked():
            found = self._read(name)
            if (found.etag if found else NEW) != etag:
                raise Conflict
            # In the folder of the object: file systems take long to make many files in one folder.
            unfinished = target.with_name(f"{_UNFINISHED}{token_hex(8)}")
            try:
                try:
                    file = unfinished.open("xb", buffering=0)
                except FileNotFoundError:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    file = unfinished.open("xb", buffering=0)
                with file:
                    file.write(data)
                unfinished.replace(target)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
        return _etag(data)

    def _delete(self, name: str) -> None:
        target = self._folder / name
        with self._locked():
            with suppress(FileNotFoundError, NotADirectoryError):
                target.unlink()
            for folder in target.parents:
                if folder == self._folder:
                    break
                with suppress(OSError):  # not empty, or not there
                    folder.rmdir()

    def _names(self, prefix: str, before: float | None) -> list[str]:
        within, _, _ = prefix.rpartition("/")
        found = list[str]()
        for folder, _, files in os.walk(self._folder / within):
            for file in files:
                name = (Path(folder) / file).relative_to(self._folder).as_posix()
                if file.startswith(_UNFINISHED):
                    self._remove_if_old(name)
                elif name.startswith(prefix) and name != _LOCK:
                    found.append(name)
        return found if before is None else [name for name in found if self._written(name) < before]

    def _remove_if_old(self, unfinished: str) -> None:
        if self._written(unfinished) < time.time() - _MAX_WRITE_SECONDS:
            (self._folder / unfinished).unlink(missing_ok=True)

    def _written(self, name: str) -> float:
        try:
            return (self._folder / name).stat().st_mtime
        except FileNotFoundError:  # it has been deleted since
            return math.inf

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the lock that all writers of the folder take; the system frees it when a process dies."""
        path = self._folder / _LOCK
        try:
            file = path.open("ab", buffering=0)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = path.open("ab", buffering=0)
        with file as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _etag(data: bytes) -> str:
    """The hash of the bytes: the same bytes again are the same version, which does no harm here."""
    return hashlib.sha256(data).hexdigest()[:32]


async def _in_thread[T](work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as fault:
        raise Unavailable(f"The folder of runs cannot be used: {fault.strerror}. Check DATA_DIR.") from fault
