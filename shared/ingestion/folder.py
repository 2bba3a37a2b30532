"""What lies in a folder: the documents to index, and what cannot be one and why."""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from shared.ingestion.naming import sourcefile, why_not
from shared.ingestion.reports import FileReport, Outcome
from shared.reading.pages import UnreadableError


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a format that can be read."""

    path: Path
    sourcefile: str


@dataclass(slots=True)
class Listing:
    """A folder's content, all folders below included."""

    files: list[Found] = field(default_factory=list[Found])
    """Sorted by path; each `sourcefile` once."""
    others: list[FileReport] = field(default_factory=list[FileReport])
    """What is skipped or failed without being opened."""
    closed_folders: list[str] = field(default_factory=list[str])
    """Folders that cannot be listed now, each ending with `/`: what is in them is not known to be gone."""


def list_folder(folder: Path, leave_out: Collection[Path], formats: Collection[str]) -> Listing:
    """List the documents of `folder`; hidden files and folders are ignored, and so are the folders to `leave_out`.

    Links to files of the folder are files; other links are skipped, so that nothing outside of the folder is read
    and nothing is read forever.

    Args:
        folder: With all folders below it.
        leave_out: Folders below it.
        formats: The suffixes of what can be read.
    """
    root = folder.resolve()
    not_ours = {path.resolve() for path in leave_out}
    listing = Listing()
    names: set[str] = set()

    def report_closed(fault: OSError) -> None:
        name = Path(fault.filename).relative_to(root).as_posix()
        listing.closed_folders.append("" if name == "." else f"{name}/")
        listing.others.append(FileReport(name, Outcome.FAILED, f"cannot be opened: {fault.strerror}."))

    for current, subfolders, files in os.walk(root, onerror=report_closed):
        here = Path(current)
        links = [name for name in subfolders if (here / name).is_symlink()]
        subfolders[:] = sorted(
            name
            for name in subfolders
            if not name.startswith(".") and name not in links and here / name not in not_ours
        )
        for name in sorted(files + links):
            if not name.startswith("."):
                _add(here / name, root, listing, names, formats)
    return listing


def _add(path: Path, root: Path, listing: Listing, names: set[str], formats: Collection[str]) -> None:
    try:
        name = sourcefile(path, root)
    except UnreadableError as unreadable:
        shown = os.fsencode(path.relative_to(root)).decode(errors="replace")
        listing.others.append(FileReport(shown, Outcome.FAILED, str(unreadable)))
        return
    if reason := _why_skipped(path, name, root, formats):
        listing.others.append(FileReport(name, Outcome.SKIPPED, reason))
    elif name in names:
        reason = "has the same name as another but for how its accents are encoded; rename one."
        listing.others.append(FileReport(name, Outcome.FAILED, reason))
    else:
        names.add(name)
        listing.files.append(Found(path, name))


def _why_skipped(path: Path, name: str, root: Path, formats: Collection[str]) -> str | None:
    """Why a file is skipped, or None."""
    if path.is_symlink():
        target = path.resolve()
        if not target.is_relative_to(root):
            return "is a link that leads out of the folder."
        if target.is_dir():
            return "is a link to a folder, which is indexed where it is."
        if not target.exists():
            return "is a link that leads nowhere."
    if reason := why_not(name, formats):
        return reason
    if not stat.S_ISREG(path.stat().st_mode):
        return "is no regular file."
    return None
