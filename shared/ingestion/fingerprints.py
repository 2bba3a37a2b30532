"""Fingerprints: what the index's entry of a document depends on, and where the document came from.

A fingerprint is `folder:` or `stored:` and two hashes: one of the document's bytes, and one of its version, which the
store tells without reading them. What else the entry depends on is in both. Who removes an entry goes by the origin: a
folder's ingestion removes only what came from a folder, and whoever follows the store only what was put there. What is
in the index without one of ours was put there by others.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

_VERSION = "2"
"""Of what readers and splitter make of the same bytes; a new one indexes every document again."""
_FINGERPRINT = re.compile(r"\w+:([0-9a-f]{64}):([0-9a-f]{64})")
"""Of what is finished: an index may note at its end that it is not."""


class Origin(StrEnum):
    """Where a document came from."""

    FOLDER = "folder"
    """It was kept by the ingestion of a folder."""
    STORED = "stored"
    """It was put into the store by others."""


def fingerprint(origin: Origin, path: Path, version: str, more: Sequence[str]) -> str:
    """The fingerprint of a document that lies in a file. Reads it: call it in a thread.

    Args:
        origin: Where it came from.
        path: The file.
        version: The document's version, as the store has it.
        more: What else its entry depends on.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{origin}:{_hash(content, more)}:{_hash(version, more)}"


def is_of(origin: Origin, mark: str) -> bool:
    """Whether a fingerprint is of such a document."""
    return mark.startswith(f"{origin}:")


def is_same(mark: str | None, other: str) -> bool:
    """Whether two fingerprints are of the same content, wherever it came from."""
    ours, theirs = _FINGERPRINT.fullmatch(mark or ""), _FINGERPRINT.fullmatch(other)
    return ours is not None and theirs is not None and ours[1] == theirs[1]


def is_of_version(origin: Origin, mark: str | None, version: str, more: Sequence[str]) -> bool:
    """Whether a fingerprint is of this version from there; False says nothing of its content."""
    found = _FINGERPRINT.fullmatch(mark or "")
    return found is not None and is_of(origin, found[0]) and found[2] == _hash(version, more)


def _hash(what: str, more: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((what, _VERSION, *more)).encode()).hexdigest()
