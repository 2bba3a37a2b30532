"""Route of the source documents that answers cite."""

import codecs
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from email.utils import format_datetime
from pathlib import PurePosixPath
from typing import Literal
from unicodedata import normalize
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from shared.chat_types import Access
from shared.documents import DocumentReader, StoredDocument, is_hidden, is_name
from shared.documents.media_types import HARMLESS_TYPES, SHOWN_TYPES, media_type
from shared.documents.own import MINE, access_with_own, stored_name
from shared.errors import NotFound, SwitchboardError
from shared.triggers.door import Call, checked_first
from shared.web.byte_ranges import NotPartial, Part, select_part
from shared.wire.ai_chat import AI_CHAT
from shared.wire.table import resolve

_log = logging.getLogger("switchboard.content")


def _check_protocol(request: Request) -> None:
    """Check the protocol that the path names, if any. Errors have the same shape in all."""
    resolve(request.path_params.get("protocol"), "", AI_CHAT.name)


@checked_first(_check_protocol)
async def get_content(call: Call) -> Response:
    """Get a source document.

    Sends a document that an answer cites, as a whole or in part.
    """
    request, service = call.request, call.service
    path = request.path_params.get("path") or ""  # an empty catch-all is not in path_params
    access = access_with_own(call.caller, call.settings)
    store = await service.documents.get()
    document = await find_document(store, path, access, service.retriever.may_see)
    headers = content_headers(document)
    if service.settings.auth_mode != "none" or service.settings.website_auth_enabled:
        headers["cache-control"] = "private, no-cache"  # another user of the same cache may not be allowed to see it
    match select_part(request.method, request.headers, document):
        case NotPartial.NOT_MODIFIED:
            return Response(status_code=304, headers=headers)
        case NotPartial.NOT_SATISFIABLE:
            return Response(status_code=416, headers={"content-range": f"bytes */{document.size}"})
        case NotPartial.WHOLE:
            part, status = Part(0, document.size), 200
        case Part() as part:
            status = 206
            headers["content-range"] = f"bytes {part.start}-{part.start + part.length - 1}/{document.size}"
    headers["content-length"] = str(part.length)
    # The charset of a text is detected from its first bytes. They are read once if the response contains them anyway.
    has_start = request.method != "HEAD" and not part.start and part.length >= min(document.size, CHARSET_BYTES)
    if not has_start:
        headers["content-type"] = await content_type(store, document, None)
    if request.method == "HEAD":
        return Response(headers=headers)
    pieces = store.read(document, part.start, part.length)
    first = await anext(pieces, b"")  # read before the status is sent, so that a failure gets its own status
    if has_start:
        headers["content-type"] = await content_type(store, document, first)
    return _DocumentResponse(first, pieces, status, headers)


class _DocumentResponse(StreamingResponse):
    """Sends a document while it is read. A read failure closes the connection, so that the client notices it."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes], status: int, headers: dict[str, str]) -> None:
        self._pieces = _chained(first, rest)
        super().__init__(self._pieces, status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document, and stop reading it when sending ends for any reason."""
        try:
            async with aclosing(self._pieces):
                await super().__call__(scope, receive, send)
        except SwitchboardError as fault:  # the server closes the connection of an incomplete response
            _log.warning("a document was cut off: %s", fault.message)


async def _chained(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


CHARSET_BYTES = 64 * 1024
"""Bytes at the start of a text that show whether it is UTF-8."""


async def find_document(
    store: DocumentReader,
    path: str,
    access: Access | None,
    may_see: Callable[[str, Access], Awaitable[bool]],
) -> StoredDocument:
    """Find a document by the path in `GET /content/{path}`, percent-decoded once.

    The path may contain a citation's `#page=3`, and the escapes of its name, if a client encoded the whole citation.

    Args:
        store: Where the documents are.
        path: The path.
        access: What the caller may see; None: everything.
        may_see: Asks the index whether it has the document of a name for such a caller.

    Raises:
        NotFound: the document does not exist, or the caller may not see it; the answer does not tell which.
        SwitchboardError: a service fails now.
    """
    for name in _possible_names(path):
        if access and access.own and name.startswith(MINE) and (own := await store.find(stored_name(name, access))):
            return own
        if access and not access.all_shared and not await may_see(name, access):
            continue
        document = await store.find(name)
        if document and not (access and document.rights.forbid(access)):
            return document
    raise NotFound("There is no such document.")


def content_headers(document: StoredDocument) -> dict[str, str]:
    """Headers of an answer with a document, or with a part of it, except for its `content-type`."""
    kind = media_type(document.name)
    headers = {
        "content-disposition": _disposition("inline" if kind in SHOWN_TYPES else "attachment", document.name),
        "x-content-type-options": "nosniff",
        "accept-ranges": "bytes",
        "etag": document.etag,
        "last-modified": format_datetime(document.last_modified, usegmt=True),
        # A tab sends no Origin and gets no CORS headers: pages of other origins must not get that from the cache.
        "vary": "Origin",
    }
    if kind not in HARMLESS_TYPES:
        headers["content-security-policy"] = "sandbox"  # scripts in a document must not act on the app's origin
    return headers


async def content_type(store: DocumentReader, document: StoredDocument, start: bytes | None) -> str:
    """The `content-type` of a document; a text that starts as UTF-8 has a charset.

    Args:
        store: Where the document is.
        document: The document.
        start: Its first `CHARSET_BYTES`, or all of a shorter one; more does no harm. None: read them here if needed.

    Raises:
        SwitchboardError: the document cannot be read now.
    """
    kind = media_type(document.name)
    if not kind.startswith("text/"):
        return kind
    if start is None:
        async with aclosing(store.read(document, 0, min(document.size, CHARSET_BYTES))) as pieces:
            start = b"".join([piece async for piece in pieces])
    return f"{kind}; charset=utf-8" if _is_utf8(start[:CHARSET_BYTES]) else kind


def _possible_names(path: str) -> list[str]:
    """The names that a path may stand for, the path itself first."""
    meant = (path, path.partition("#")[0], unquote(path), unquote(path.partition("#")[0]))
    names = dict.fromkeys([*meant, *(normalize("NFC", name) for name in meant)])
    return [name for name in names if is_name(name) and not is_hidden(name)]


def _disposition(kind: Literal["inline", "attachment"], document: str) -> str:
    """The `content-disposition` of a document. Source: RFC 6266; other than plain ASCII is encoded by RFC 8187."""
    name = PurePosixPath(document).name
    quoted = quote(name, safe="")
    return f'{kind}; filename="{name}"' if quoted == name else f"{kind}; filename*=UTF-8''{quoted}"


def _is_utf8(start: bytes) -> bool:
    """Whether bytes are UTF-8; the last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True
