"""The boundary to the places where documents are kept: the originals that answers cite, and images of their pages.

Two implementations: `file_store` uses a folder in `DATA_DIR`, `blob_store` a container of Azure Blob Storage.
"""

import hashlib
import re
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Protocol

import msgspec

from shared.chat_types import Access, PartHealth
from shared.errors import AlreadyThere

MAX_NAME_LENGTH = 1024
"""Characters in the name of a document. Source: Azure Blob Storage, 'Naming and referencing containers, blobs'."""

PENDING = ".pending/"
"""Beginning of the names of notes on changes that have begun (`shared/ingestion/changes.py`). Nobody is shown them."""

_NOT_IN_NAME = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Rights(msgspec.Struct, frozen=True):
    """Who may see a document under a security filter. Empty rights name nobody."""

    oids: tuple[str, ...] = ()
    """Object ids of users."""
    groups: tuple[str, ...] = ()
    """Object ids of groups."""

    def forbid(self, access: Access) -> bool:
        """Whether the rights name somebody, but neither this user nor one of these groups.

        Checked with the rights in the store too: the index may not have those of the latest version yet.
        """
        return self != Rights() and not self.allow(access)

    def allow(self, access: Access) -> bool:
        """Whether a passage with these rights may be seen by this user."""
        if self == Rights() or access.all_shared:
            return access.open_documents or access.all_shared
        return not (set(self.oids).isdisjoint(access.named_oids) and set(self.groups).isdisjoint(access.named_groups))


NOBODY = Rights(("nobody",))
"""The rights of a document that is for nobody at all: no user has this id."""


class StoredDocument(msgspec.Struct, frozen=True):
    """The properties of a document in a store, without its bytes."""

    name: str
    """Path in the store: the `sourcefile` of its passages."""
    size: int
    """Bytes."""
    etag: str
    """Changes whenever the bytes change. A strong HTTP entity tag, with its quotes."""
    last_modified: datetime
    """In UTC."""
    kept: bool
    """Whether it is the copy of a document from a folder; False: others put it into the store."""
    rights: Rights = Rights()
    """Who may see this version."""
    md5: str | None = None
    """MD5 of the bytes, in hex; None where the store does not know it."""

    @property
    def version(self) -> str:
        """The MD5, which changes only with the bytes, or else the ETag, which may also change without them."""
        return self.md5 or self.etag


class DocumentReader(Protocol):
    """Finds and reads documents by name: a relative path with `/`, such as `health/plan.pdf`; see `is_name`.

    Every method raises `Unavailable` or `TooSlow` when the service behind the store fails.
    """

    async def find(self, name: str) -> StoredDocument | None:
        """Find a document; None where the store has none of this name."""
        ...

    def read(self, document: StoredDocument, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the bytes of a document in pieces of at most 512 KiB.

        Args:
            document: The version to read.
            start: Offset of the first byte, within the document's size.
            length: Number of bytes; None: all from `start`.

        Raises:
            Unavailable: the document has changed since it was found.
        """
        ...

    def find_all(self, after: str = "", wanted: Callable[[str], bool] | None = None) -> AsyncGenerator[StoredDocument]:
        """List the documents in the store's order of names, only as many as the caller takes.

        Args:
            after: Only what comes behind this name.
            wanted: Which names to list; None: all. Others may have put documents there whose names `is_name` refuses.

        Raises:
            NotConfigured: the container does not exist.
        """
        ...

    def names(self, prefix: str = "") -> AsyncGenerator[str]:
        """List the names that start with `prefix`, in any order; none where the container does not exist."""
        ...

    async def check(self) -> PartHealth:
        """Check whether documents can be read now."""
        ...


class DocumentStore(DocumentReader, Protocol):
    """A place of documents that can be read and written, as ingestion needs it."""

    @property
    def is_shared(self) -> bool:
        """Whether others put documents here too, so that documents unknown to the index must not be removed."""
        ...

    async def keep(
        self,
        name: str,
        data: bytes,
        replaces: StoredDocument | None = None,
        rights: Rights | None = None,
        *,
        own: bool = True,
    ) -> StoredDocument:
        """Write a document, if the store still has what the caller has found there.

        Readers see the old version or the new one, never a part.

        Args:
            name: Its name.
            data: Its bytes.
            replaces: The version that is replaced; None: there is none.
            rights: Who may see it; None: those who may see the version that is replaced.
            own: What `StoredDocument.kept` becomes.

        Returns:
            The version that was written.

        Raises:
            AlreadyThere: the store has another version by now, and it stays.
            BadRequest: this store can have no document of this name.
            ValueError: `is_name` refuses the name.
        """
        ...

    async def remove(self, name: str, etag: str | None = None) -> bool:
        """Remove a document if it exists.

        Args:
            name: Its name.
            etag: The version to remove; None: any version.

        Returns:
            False if another version is there; it stays.

        Raises:
            BadRequest: the name leads through a link.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def is_name(name: str) -> bool:
    """Whether a document can have this name: a relative path in which no part leads elsewhere.

    Backslashes are refused, because Azure Storage treats them as slashes; control characters and line separators,
    because web servers do not find a path with a line break, and logs and prompts show names in lines; lone
    surrogates, because they stand for a byte in another encoding.
    """
    if len(name) > MAX_NAME_LENGTH or _NOT_IN_NAME.search(name):
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))


def conflict(replaces: StoredDocument | None) -> AlreadyThere:
    """The error of a write that has found another version than the one that it replaces; None: none at all."""
    return AlreadyThere(
        "Somebody else has changed the document at the same time. Look at it, and try again."
        if replaces
        else "There is a document of this name already. Choose another name, or say that it is replaced."
    )


def is_hidden(name: str) -> bool:
    """Whether a document, or a folder that it is in, has a name that starts with a dot."""
    return any(part.startswith(".") for part in name.split("/"))


def page_image(sourcefile: str, page: int) -> str:
    """Name, in the store of page images, of the image of a document's page, counted from 1."""
    return f"{sourcefile}/{page}.jpg"


def md5_of(data: bytes) -> str:
    """MD5 in hex, which Blob Storage keeps for each blob. Takes a while for large files: call it in a thread."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
