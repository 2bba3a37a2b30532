"""Fingerprints: what a document's entry in the index depends on, and where the document came from.

A fingerprint is an origin (`folder:` or `stored:`) and two hashes: one of the document's bytes, and one of its version,
which the store knows without reading the bytes. Both hashes include everything else that the entry depends on. The
origin decides who may remove an entry: the ingestion of a folder removes only documents from a folder, and following
the store removes only documents that others put there. Entries with other fingerprints, or none, belong to others.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum

_FORMAT_VERSION = "7"
"""Version of what readers and splitter make of the same bytes. A new one indexes every document again."""
_FINGERPRINT = re.compile(r"\w+:([0-9a-f]{64}):([0-9a-f]{64})")
"""A finished entry. An index may append a note to the fingerprint of an unfinished one."""


class Origin(StrEnum):
    """Where a document came from."""

    FOLDER = "folder"
    """The ingestion of a folder, which keeps a copy in the store."""
    STORED = "stored"
    """Others put it into the store."""


def fingerprint(origin: Origin, data: bytes, version: str, dependencies: Sequence[str]) -> str:
    """Compute the fingerprint of a document. Takes a while for large documents: call it in a thread.

    Args:
        origin: Where the document came from.
        data: Its bytes.
        version: Its `StoredDocument.version`.
        dependencies: What else its entry depends on.
    """
    content = hashlib.sha256(data).hexdigest()
    return f"{origin}:{_hash(content, dependencies)}:{_hash(version, dependencies)}"


def is_from(origin: Origin, known: str) -> bool:
    """Whether a fingerprint belongs to a document of this origin."""
    return known.startswith(f"{origin}:")


def has_same_content(known: str | None, other: str) -> bool:
    """Whether two fingerprints stand for the same bytes and dependencies, whatever the origin."""
    first, second = _FINGERPRINT.fullmatch(known or ""), _FINGERPRINT.fullmatch(other)
    return first is not None and second is not None and first[1] == second[1]


def has_version(origin: Origin, known: str | None, version: str, dependencies: Sequence[str]) -> bool:
    """Whether a fingerprint was made of this version and origin. The same bytes can come as another version, too."""
    found = _FINGERPRINT.fullmatch(known or "")
    return found is not None and is_from(origin, found[0]) and found[2] == _hash(version, dependencies)


def _hash(text: str, dependencies: Sequence[str]) -> str:
    return hashlib.sha256("\0".join((text, _FORMAT_VERSION, *dependencies)).encode()).hexdigest()
