"""A folder of documents: which of its files can be indexed, and why the others cannot; and reading a file."""

import os
import stat
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shared.documents import is_name
from shared.ingestion import FileReport, Outcome
from shared.ingestion.document import NO_NAME, not_indexed
from shared.reading import UnreadableError
from shared.reading.readers import MAX_FILE_BYTES, check_size

_OF_THE_SYSTEM = ("thumbs.db", "desktop.ini")
"""Files that Windows puts into folders. Those of others, and the lock files of Office, begin with `.` or `~$`."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in a format that can be read."""

    path: Path
    sourcefile: str
    """Its path below the folder, see `sourcefile_of`."""
    size: int
    """Its bytes when it was listed."""
    known: str | None = None
    """The fingerprint that the index has of its document."""
    is_stored: bool = False
    """Whether the store has a document of this name."""


@dataclass(frozen=True, slots=True)
class ClosedFolder(FileReport):
    """A folder that cannot be listed now."""

    @property
    def prefix(self) -> str:
        """What the names of the documents in it begin with."""
        return "" if self.name == "." else f"{unicodedata.normalize('NFC', self.name)}/"


def list_folder(
    folder: Path, leave_out: Collection[Path], formats: Collection[str]
) -> Iterator[FoundFile | FileReport]:
    """List the documents of a folder, in any order, and report on what is no document or cannot be listed.

    Hidden files and hidden folders are ignored. A link to a file below the folder counts as a file. Other links are
    skipped: nothing outside of the folder is read, and no loop is followed. Two files may have one `sourcefile`.

    Args:
        folder: The folder, with all folders below it.
        leave_out: Folders below it to ignore.
        formats: Suffixes of the files that can be read.
    """
    root = folder.resolve()
    ignored = {path.resolve() for path in leave_out}
    folders = [root]
    while folders:
        current = folders.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    path = current / entry.name
                    if entry.name.startswith((".", "~$")) or entry.name.lower() in _OF_THE_SYSTEM or path in ignored:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    else:
                        yield _found(path, root, formats)
        except OSError as fault:
            yield ClosedFolder(_relative(current, root), Outcome.FAILED, f"cannot be opened: {fault.strerror}.")


def read_file(path: Path) -> bytes:
    """Read a file, in one go, after a check of its size.

    Raises:
        UnreadableError: the file is empty or too large.
        OSError: it cannot be read now.
    """
    with path.open("rb") as file:
        check_size(os.fstat(file.fileno()).st_size)
        data = file.read(MAX_FILE_BYTES + 1)  # the file may have grown since
    check_size(len(data))
    return data


def sourcefile_of(path: Path, folder: Path) -> str:
    """The path of a file below the indexed folder, with `/`, and in NFC on every file system.

    Raises:
        UnreadableError: the name is not Unicode, or no document can have it.
    """
    name = unicodedata.normalize("NFC", path.relative_to(folder).as_posix())
    try:
        name.encode()
    except UnicodeEncodeError as broken:
        raise UnreadableError("has a name that is not Unicode; rename it.") from broken
    if not is_name(name):
        raise UnreadableError(NO_NAME)
    return name


def _found(path: Path, root: Path, formats: Collection[str]) -> FoundFile | FileReport:
    try:
        name = sourcefile_of(path, root)
    except UnreadableError as unreadable:
        return FileReport(_relative(path, root), Outcome.FAILED, str(unreadable))
    if reason := _why_skipped(path, root):
        return FileReport(name, Outcome.SKIPPED, reason)
    return not_indexed(name, formats) or FoundFile(path, name, _size(path))


def _relative(path: Path, root: Path) -> str:
    """A path below the folder, as a report shows it, in Unicode."""
    return os.fsencode(path.relative_to(root)).decode(errors="replace")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading the file will report the error
        return 0


def _why_skipped(path: Path, root: Path) -> str | None:
    """Why something in a folder is skipped, whatever its name; None if it is not, or if that is not known now."""
    with suppress(OSError):  # reading the file will report the error
        if path.is_symlink():
            target = path.resolve()
            if not target.is_relative_to(root):
                return "is a link that leads out of the folder."
            if target.is_dir():
                return "is a link to a folder, which is indexed where it is."
            if not target.exists():
                return "is a link that leads nowhere."
        if not stat.S_ISREG(path.stat().st_mode):
            return "is no regular file."
    return None
