"""The boundary to where documents are kept: the originals that answers cite, and images of their pages.

Two implementations: `file_store` below `DATA_DIR`, and `blob_store` for a container of Azure Blob Storage.
"""

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from shared.chat_types import Access, PartHealth


@dataclass(frozen=True, slots=True)
class Rights:
    """Who may see a document under a security filter; empty: it names nobody."""

    oids: tuple[str, ...] = ()
    """Object ids of users."""
    groups: tuple[str, ...] = ()
    """Object ids of groups."""

    def forbid(self, access: Access) -> bool:
        """Whether they name somebody, and nobody of these: the index may not know yet whose this version is."""
        named = bool(self.oids or self.groups)
        seen = not (set(self.oids).isdisjoint(access.named_oids) and set(self.groups).isdisjoint(access.named_groups))
        return named and not seen


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is now."""

    name: str
    """Its path in the store: the `sourcefile` of its passages."""
    size: int
    """Bytes."""
    etag: str
    """Changes whenever the bytes do; with its quotes, a strong one as in HTTP."""
    last_modified: datetime
    """In UTC."""
    kept: bool
    """Whether it is here by `DocumentStore.keep`, and not put by others."""
    rights: Rights = Rights()
    """Who may see this version."""
    md5: str | None = None
    """Of its bytes, in hex; None where the store does not know it."""

    @property
    def version(self) -> str:
        """Changes whenever the bytes do, and as seldom else as the store can tell."""
        return self.md5 or self.etag


class DocumentStore(Protocol):
    """Keeps documents by name: a relative path with `/`, such as `health/plan.pdf`; `names.is_name` says which are."""

    @property
    def is_shared(self) -> bool:
        """Whether others put documents here too: what ingestion does not know of is not its own to remove."""
        ...

    async def find(self, name: str) -> StoredDocument | None:
        """The document, or None where there is none: what lies outside of the store is no document.

        Raises:
            Unavailable, TooSlow: the service's faults, as with every method here.
        """
        ...

    def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield its bytes, or `length` of them from `start`, as they come; those of this version, or an error.

        Both lie within its size.
        """
        ...

    async def keep(self, name: str, file: Path, rights: Rights | None = None) -> None:
        """Keep a copy of a file under this name, whole at any moment.

        Args:
            name: Its name from now on.
            file: What to copy.
            rights: Who may see it; None: those who may see the older one. A store that knows no rights keeps none.

        Raises:
            ValueError: no document can have this name.
        """
        ...

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove it if it is there.

        Args:
            name: Whose.
            etag: Of the version to remove; None: whichever there is.

        Returns:
            False: another version is there, and stays.
        """
        ...

    def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """Yield the names that begin so, in any order."""
        ...

    def find_all(self) -> AsyncGenerator[StoredDocument]:
        """Yield each document, in any order, by what a listing tells of it; their names may be none.

        Raises:
            NotConfigured: there is no place of documents that could be listed.
        """
        ...

    async def check(self) -> PartHealth:
        """Whether it can be read now."""
        ...

    async def aclose(self) -> None:
        """Close what this store opened."""
        ...


def md5_of(file: Path) -> str:
    """The MD5 of a file, in hex. Reads it: call it in a thread.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def page_image(sourcefile: str, page: int) -> str:
    """The name of the image of a document's page, counted from 1, in the store of page images."""
    return f"{sourcefile}/{page}.jpg"
