"""Sends a caller's request on to the worker and its answer back, both as streams.

As in the Functions host the invocation goes first, and its HTTP request after it on another way: where that is not
sent, only the app itself ends the invocation (`shared/web/http_extension.py`).
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from urllib.parse import quote, urlsplit

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from local.worker_connection import BrokenOff, WorkerConnection

type Invoke = Callable[[], Future[bool]]

LARGEST_BODY = 64 * 1024 * 1024
"""Bytes of a request's body that are passed on. The app reads so many of a body that it refuses; beyond that it closes
the connection, and its answer can be lost."""

_HOP_BY_HOP = frozenset(
    {
        *("connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_INVOCATION_ID = ("x-ms-invocation-id",)
_FORWARDED = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")
"""Headers that the host's proxy writes itself, in place of what came."""
_SIGNED_IN = ("x-ms-client-principal", "x-ms-token-")


class BadBody(Exception):
    """The body of the caller's request has broken framing."""


class BodyTooLarge(Exception):
    """The body of the caller's request is over `LARGEST_BODY`."""


class WorkerUnreachable(Exception):
    """The worker's HTTP server closed the connection before it answered."""


class NotSent(Exception):
    """A header of the request, or of the answer, has a value with a letter beyond ASCII."""


class Proxy:
    """Sends requests on to the worker's HTTP server.

    Each request has a connection of its own: one that is kept could be closed by the worker just when it is used again.

    Args:
        http_uri: The server.
        signs_in: Whether something in front of this host plays App Service Authentication: its headers are passed on.
    """

    def __init__(self, http_uri: str, *, signs_in: bool = False) -> None:
        address = urlsplit(http_uri)
        self._host = address.hostname or ""
        self._port = address.port or 80
        self._set_by_the_platform = (*_INVOCATION_ID, *_FORWARDED, "forwarded", *(() if signs_in else _SIGNED_IN))

    async def forward(
        self,
        request: web.BaseRequest,
        invocation_id: str,
        invoke: Invoke,
        extra: Mapping[str, str],
        answered: Callable[[int], None],
    ) -> web.StreamResponse:
        """Answer a request with what the function answers.

        Args:
            request: The caller's.
            invocation_id: Ties the HTTP request to the invocation.
            invoke: Starts the invocation.
            extra: Headers for the answer, which replace the function's.
            answered: Called with the status once the answer is complete; the caller may leave at that moment.

        Raises:
            BadBody: Nothing was answered, because the request's body is malformed.
            BodyTooLarge: Nothing was answered, because the request's body is too large.
            NotSent: Nothing was answered, because of a header.
            WorkerUnreachable: Nothing was answered.
            ConnectionResetError: The answer broke off; the caller's connection must too.
        """
        if (request.content_length or 0) > LARGEST_BODY:
            raise BodyTooLarge
        invocation = invoke()
        try:
            headers = self._request_headers(request, invocation_id)
            worker = await WorkerConnection.connect(self._host, self._port)
        except OSError as exc:
            await _ended(invocation)
            raise WorkerUnreachable from exc
        except NotSent:
            await _ended(invocation)
            raise
        uploading: asyncio.Task[None] | None = None
        try:
            knows_chunks = request.version >= HttpVersion11
            worker.send_head(f"{request.method} {target(request)} HTTP/1.1", headers, sizes_wanted=knows_chunks)
            if request.body_exists:
                uploading = _start_upload(request, worker)
            try:
                answer = await _relay_answer(request, worker, extra)
            except WorkerUnreachable:
                if _was_too_large(uploading):
                    raise BodyTooLarge from None
                raise
            answered(answer.status)
        finally:
            if uploading:
                uploading.cancel()
            worker.abort()  # Whatever of the request's body nobody wanted is not sent.
        return answer

    def _request_headers(self, request: web.BaseRequest, invocation_id: str) -> CIMultiDict[str]:
        """Return what is sent on.

        Raises:
            NotSent: A value has a letter beyond ASCII.
        """
        sent = _end_to_end(request.raw_headers)
        headers = CIMultiDict[str]()
        for name in dict.fromkeys(name.lower() for name in sent):
            if not name.startswith(self._set_by_the_platform):
                headers[name] = ("; " if name == "cookie" else ", ").join(sent.getall(name))
        if not all(value.isascii() for value in headers.values()):
            raise NotSent
        address = request.remote or ""
        forwarded = zip(_FORWARDED, (address, headers.get("host", ""), request.scheme), strict=True)
        headers.update(forwarded)
        headers["x-ms-invocation-id"] = invocation_id
        headers.setdefault("Host", f"{self._host}:{self._port}")
        headers["Connection"] = "close"
        if request.body_exists:
            if "Content-Length" not in headers:
                headers["Transfer-Encoding"] = "chunked"
            # The headers go first, so that a function can answer before, or without, reading the body.
            headers["Expect"] = "100-continue"
        return headers


def target(request: web.BaseRequest) -> str:
    """Return the path and query as they were sent, fit for a request line; `%2F` in the path comes as `%252F`."""
    raw = request.raw_path
    if not raw.startswith("/"):  # The absolute form, as for a proxy.
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    path, mark, query = raw.partition("?")
    raw = re.sub("%2f", lambda escape: f"%25{escape[0][1:]}", path, flags=re.IGNORECASE) + mark + query
    ascii_marks = "".join(map(chr, range(0x21, 0x7F))).replace("#", "")
    return quote(raw, safe=ascii_marks, errors="surrogateescape")


async def _ended(invocation: Future[bool]) -> None:
    """Wait until the app has ended an invocation. A caller who leaves meanwhile does not end it."""
    await asyncio.shield(asyncio.wrap_future(invocation))


def _transport(request: web.BaseRequest) -> asyncio.Transport:
    if request.transport is None:
        raise ConnectionResetError("The caller has left.")
    return request.transport


async def _relay_answer(
    request: web.BaseRequest, worker: WorkerConnection, extra: Mapping[str, str]
) -> web.StreamResponse:
    try:
        head = await worker.head()
    except BrokenOff as exc:
        raise (WorkerUnreachable if request.content.exception() is None else BadBody) from exc
    if not all(value.isascii() for _, value in head.headers):
        raise NotSent
    answer = web.StreamResponse(status=head.status, reason=head.reason, headers=_answer_headers(head.headers, extra))
    await answer.prepare(request)
    # aiohttp writes the head before and the end after; what lies between goes past it.
    await worker.relay(_transport(request), request.writer.drain)
    await answer.write_eof()
    return answer


def _start_upload(request: web.BaseRequest, worker: WorkerConnection) -> asyncio.Task[None]:
    chunked = "Content-Length" not in request.headers
    uploading = asyncio.create_task(worker.send_body(_parts(request), chunked=chunked))

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception():  # The body is malformed or too large, or the caller has left.
            worker.abort()

    uploading.add_done_callback(ended)
    return uploading


def _was_too_large(uploading: asyncio.Task[None] | None) -> bool:
    return bool(
        uploading and uploading.done() and not uploading.cancelled() and isinstance(uploading.exception(), BodyTooLarge)
    )


async def _parts(request: web.BaseRequest) -> AsyncIterator[bytes]:
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # The answer itself has not begun.
        request.writer.output_size = 0
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > LARGEST_BODY:
            raise BodyTooLarge
        yield chunk


def _answer_headers(raw: Iterable[tuple[bytes, bytes]], extra: Mapping[str, str]) -> CIMultiDict[str]:
    headers = _end_to_end(raw)
    headers.update(extra)
    return headers


def _end_to_end(raw: Iterable[tuple[bytes, bytes]]) -> CIMultiDict[str]:
    """Keep the end-to-end headers, repeated ones included."""
    headers = CIMultiDict((_text(name), _text(value)) for name, value in raw)
    named = {name.strip().lower() for value in headers.getall("Connection", []) for name in value.split(",")}
    for name in _HOP_BY_HOP | named:
        headers.popall(name, None)
    return headers


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
