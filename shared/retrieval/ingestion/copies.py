"""The copies of indexed documents, which `GET /content/{path}` serves.

The index is changed after the copies: an ingestion that is interrupted between the two finds the index behind,
and does the file again.
"""

import os
import shutil
import tempfile
import unicodedata
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path


def keep_copy(path: Path, content_dir: Path, sourcefile: str) -> None:
    """Put a copy of `path` in place, whole at any moment. The unfinished one lies beside `content_dir`, unserved."""
    target = content_dir / sourcefile
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=".copy-", dir=content_dir.parent)
    os.close(descriptor)
    try:
        shutil.copyfile(path, unfinished)
        os.replace(unfinished, target)  # noqa: PTH105 (both are in hand as they are)
    finally:
        Path(unfinished).unlink(missing_ok=True)


def has_copy(content_dir: Path, sourcefile: str) -> bool:
    """Whether the copy is there."""
    return (content_dir / sourcefile).is_file()


def remove_copy(content_dir: Path, sourcefile: str) -> None:
    """Remove the copy if it is there, and the folders that are empty then."""
    target = content_dir / sourcefile
    with suppress(FileNotFoundError, NotADirectoryError):
        target.unlink()
    for folder in target.parents:
        if folder == content_dir:
            return
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()


def remove_unknown_copies(content_dir: Path, known: Collection[str]) -> None:
    """Remove the copies that an interruption left of files which the index never got."""
    for path in list(content_dir.rglob("*")):
        name = unicodedata.normalize("NFC", path.relative_to(content_dir).as_posix())
        if path.is_file() and name not in known:
            remove_copy(content_dir, path.relative_to(content_dir).as_posix())
