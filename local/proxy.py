"""Sends a caller's request on to the worker and its answer back, both as streams."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from urllib.parse import quote, urlsplit

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from local.worker_connection import BrokenOff, WorkerConnection

type Invoke = Callable[[], Future[bool]]

UNCLAIMED_SECONDS = 1.0
"""How long an invocation may go on after its answer is complete; the library ends it in the same step."""

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
_SIGNED_IN = ("x-ms-client-principal", "x-ms-token-")


class BadBody(Exception):
    """The body of the caller's request has broken framing."""


class BodyTooLarge(Exception):
    """The body of the caller's request is over `LARGEST_BODY`."""


class WorkerUnreachable(Exception):
    """The worker's HTTP server closed the connection before it answered."""


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
        self._set_by_the_platform = _INVOCATION_ID if signs_in else (*_INVOCATION_ID, *_SIGNED_IN)

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
            invoke: Starts the invocation; called once the request is on its way, so that neither waits in vain.
            extra: Headers for the answer, which replace the function's.
            answered: Called with the status once the answer is complete; the caller may leave at that moment.

        Raises:
            BadBody: Nothing was answered, because the request's body is malformed.
            BodyTooLarge: Nothing was answered, because the request's body is too large.
            WorkerUnreachable: Nothing was answered.
            ConnectionResetError: The answer broke off; the caller's connection must too.
        """
        if (request.content_length or 0) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            worker = await WorkerConnection.connect(self._host, self._port)
        except OSError as exc:
            raise WorkerUnreachable from exc
        uploading: asyncio.Task[None] | None = None
        try:
            self._send_head(request, invocation_id, worker)
            if request.body_exists:
                uploading = _start_upload(request, worker)
            invocation = invoke()
            try:
                answer = await _relay_answer(request, worker, extra)
            except (BadBody, BrokenOff, WorkerUnreachable) as exc:
                _end_unclaimed(invocation)
                if isinstance(exc, WorkerUnreachable) and _was_too_large(uploading):
                    raise BodyTooLarge from None
                raise
            answered(answer.status)
            _end_unclaimed(invocation)
        finally:
            if uploading:
                uploading.cancel()
            worker.abort()  # Whatever of the request's body nobody wanted is not sent.
        return answer

    def _send_head(self, request: web.BaseRequest, invocation_id: str, worker: WorkerConnection) -> None:
        headers = _request_headers(request.raw_headers, invocation_id, self._set_by_the_platform)
        headers.setdefault("Host", f"{self._host}:{self._port}")
        headers["Connection"] = "close"
        if request.body_exists:
            if "Content-Length" not in headers:
                headers["Transfer-Encoding"] = "chunked"
            # The headers go first, so that a function can answer before, or without, reading the body.
            headers["Expect"] = "100-continue"
        knows_chunks = request.version >= HttpVersion11
        worker.send_head(f"{request.method} {target(request)} HTTP/1.1", headers, sizes_wanted=knows_chunks)


def target(request: web.BaseRequest) -> str:
    """Return the path and query as they were sent, fit for a request line."""
    raw = request.raw_path
    if not raw.startswith("/"):  # The absolute form, as for a proxy.
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    ascii_marks = "".join(map(chr, range(0x21, 0x7F))).replace("#", "")
    return quote(raw, safe=ascii_marks, errors="surrogateescape")


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
    answer = web.StreamResponse(status=head.status, reason=head.reason, headers=_answer_headers(head.headers, extra))
    await answer.prepare(request)
    # aiohttp writes the head before and the end after; what lies between goes past it.
    await worker.relay(_transport(request), request.writer.drain)
    await answer.write_eof()
    return answer


def _end_unclaimed(invocation: Future[bool]) -> None:
    """End an invocation whose HTTP request the worker's server refused; otherwise it would never end."""
    asyncio.get_running_loop().call_later(UNCLAIMED_SECONDS, invocation.cancel)


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


def _request_headers(
    raw: Iterable[tuple[bytes, bytes]], invocation_id: str, set_by_the_platform: tuple[str, ...]
) -> CIMultiDict[str]:
    # Of a header that comes twice, in different cases, the client would send the last one only.
    headers = CIMultiDict((name.lower(), value) for name, value in _end_to_end(raw).items())
    for name in list(headers):
        if name.startswith(set_by_the_platform):
            headers.popall(name, None)
    headers["x-ms-invocation-id"] = invocation_id
    return headers


def _answer_headers(raw: Iterable[tuple[bytes, bytes]], extra: Mapping[str, str]) -> CIMultiDict[str]:
    headers = _end_to_end(raw)
    vary = [*headers.getall("Vary", []), *([extra["Vary"]] if "Vary" in extra else [])]
    headers.update(extra)
    if vary:
        headers["Vary"] = ", ".join(vary)
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
