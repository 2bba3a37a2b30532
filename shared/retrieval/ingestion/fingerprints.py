"""Fingerprints: what the index's entry of a document depends on, and where the document came from.

A fingerprint is `folder:` or `stored:` and a hash. Who removes an entry goes by the origin: a folder's ingestion only
what came from a folder. What is in the index without one of ours was put there by others.
"""

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from shared.documents import Rights
from shared.retrieval import Embedder

_VERSION = "2"
"""Of what readers and splitter make of the same bytes; a new one indexes every document again."""


class Origin(StrEnum):
    """Where a document came from."""

    FOLDER = "folder"
    """It was kept by the ingestion of a folder."""
    STORED = "stored"
    """It was put into the store by others."""


def fingerprint(origin: Origin, path: Path, rights: Rights, embedder: Embedder | None, more: Iterable[str] = ()) -> str:
    """The fingerprint of a document that lies in a file. Reads it: call it in a thread.

    Args:
        origin: Where it came from.
        path: The file.
        rights: Who may see it.
        embedder: What makes the vectors of its passages.
        more: What else is made of it, or reads it.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    for part in (_VERSION, embedder.model if embedder else "", *rights.oids, "", *rights.groups, *more):
        digest.update(f"\0{part}".encode())
    return f"{origin}:{digest.hexdigest()}"


def is_of(origin: Origin, mark: str) -> bool:
    """Whether a fingerprint is of such a document."""
    return mark.startswith(f"{origin}:")


def is_same(mark: str | None, other: str) -> bool:
    """Whether two fingerprints are of the same content, wherever it came from."""
    return mark is not None and mark.partition(":")[2] == other.partition(":")[2]
