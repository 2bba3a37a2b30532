"""The documents that answers cite, as `GET /content/{path}` serves them."""

import codecs
from collections.abc import Awaitable, Callable
from email.utils import format_datetime
from pathlib import PurePosixPath
from unicodedata import normalize
from urllib.parse import quote, unquote

from shared.chat_types import Access
from shared.documents import DocumentStore, StoredDocument
from shared.documents.media_types import media_type
from shared.documents.names import is_hidden, is_name
from shared.errors import NotFound

_SNIFF_BYTES = 64 * 1024


async def find_document(
    store: DocumentStore,
    path: str,
    access: Access | None,
    may_see: Callable[[str, Access], Awaitable[bool]],
) -> StoredDocument:
    """Find a document by the path in `GET /content/{path}`, decoded once.

    A citation's `#page=3` may be part of it, and so may the escapes in its name, if a client encoded the whole.

    Args:
        store: Where the documents are.
        path: What was asked for.
        access: What the caller may see; None: everything.
        may_see: Whether the index has the document of a name for such a caller.

    Raises:
        NotFound: there is no such document, or the caller may not see it: the two look the same.
        SwitchboardError: that cannot be found out now.
    """
    for name in _names(path):
        if access and not await may_see(name, access):
            continue
        document = await store.find(name)
        if document and not (access and document.rights.forbid(access)):
            return document
    raise NotFound("There is no such document.")


def _names(path: str) -> list[str]:
    """What a path may mean, as it stands first."""
    meant = (path, path.partition("#")[0], unquote(path), unquote(path.partition("#")[0]))
    names = dict.fromkeys([*meant, *(normalize("NFC", name) for name in meant)])
    return [name for name in names if is_name(name) and not is_hidden(name)]


async def content_headers(store: DocumentStore, document: StoredDocument) -> dict[str, str]:
    """What a document is, and what a browser must not do with it.

    Raises:
        SwitchboardError: it cannot be read now.
    """
    kind = media_type(document.name)
    headers = {
        "content-type": kind,
        "content-disposition": _disposition(PurePosixPath(document.name).name),
        "x-content-type-options": "nosniff",
        "accept-ranges": "bytes",
        "etag": document.etag,
        "last-modified": format_datetime(document.last_modified, usegmt=True),
    }
    if kind.startswith("text/") and await _is_utf8(store, document):
        headers["content-type"] += "; charset=utf-8"
    if _can_have_scripts(kind):
        headers["content-security-policy"] = "sandbox"  # a document's scripts have no business on our origin
    return headers


def _can_have_scripts(kind: str) -> bool:
    """Whether browsers run scripts in such a document, on the origin it is from. Those of a PDF have an origin apart.

    Source: WHATWG MIME Sniffing, 'XML MIME type': any XML may be XHTML.
    """
    return kind in ("text/html", "text/xml", "application/xml") or kind.endswith("+xml")


def _disposition(name: str) -> str:
    """Source: RFC 6266; what is no plain ASCII is encoded by RFC 8187."""
    quoted = quote(name, safe="")
    return f'inline; filename="{name}"' if quoted == name else f"inline; filename*=UTF-8''{quoted}"


async def _is_utf8(store: DocumentStore, document: StoredDocument) -> bool:
    """Whether the document begins as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        async for piece in store.read(document, 0, min(document.size, _SNIFF_BYTES)):
            decoder.decode(piece)
    except UnicodeDecodeError:
        return False
    return True
