"""Route of the source documents that answers cite."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import replace

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from shared.documents.own import access_with_own
from shared.documents.serving import CHARSET_BYTES, content_headers, content_type, find_document
from shared.errors import NotAllowed, NotFound, RateLimited, SwitchboardError, TooSlow
from shared.triggers.door import Call, checked_first
from shared.web.byte_ranges import NotPartial, Part, select_part
from shared.wire.ai_chat import AI_CHAT
from shared.wire.described import Answer, Description, Parameter, describes
from shared.wire.table import NAMES, resolve

_log = logging.getLogger("switchboard.content")


def _check_protocol(request: Request) -> None:
    """Check the protocol that the path names, if any. Errors have the same shape in all."""
    resolve(request.path_params.get("protocol"), "", AI_CHAT.name)


_PATH = (
    Parameter("path", "path", "The document's path as answers cite it, with or without '#page=…'."),
    Parameter("header", "Range", "The bytes to send, such as 'bytes=0-1023'."),
)
_PROTOCOL = Parameter(
    "path", "protocol", "The name of a protocol; the answer does not depend on it.", values=tuple(NAMES)
)
_DESCRIPTION = Description(
    {
        200: Answer("The document.", bytes, "*/*"),
        206: Answer("The part that was asked for.", bytes, "*/*"),
        304: Answer("The caller has this version already, by If-None-Match or If-Modified-Since."),
        416: Answer("The document has no such part; Content-Range contains its size in bytes."),
    },
    _PATH,
    errors=(NotAllowed, RateLimited, TooSlow, NotFound),
    tag="documents",
)


@describes(replace(_DESCRIPTION, parameters=(_PROTOCOL, *_PATH), visible=False))
@checked_first(_check_protocol)
async def get_pinned_content(call: Call) -> Response:
    """Get a source document.

    Sends a document that an answer cites, as a whole or in part.
    """
    return await get_content(call)


@describes(_DESCRIPTION)
async def get_content(call: Call) -> Response:
    """Get a source document.

    Sends a document that an answer cites, as a whole or in part.
    """
    request, service = call.request, call.service
    path = request.path_params.get("path") or ""  # an empty catch-all is not in path_params
    access = access_with_own(call.caller, call.settings)
    document = await find_document(service.documents, path, access, service.retriever.may_see)
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
        headers["content-type"] = await content_type(service.documents, document, None)
    if request.method == "HEAD":
        return Response(headers=headers)
    pieces = service.documents.read(document, part.start, part.length)
    first = await anext(pieces, b"")  # read before the status is sent, so that a failure gets its own status
    if has_start:
        headers["content-type"] = await content_type(service.documents, document, first)
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
