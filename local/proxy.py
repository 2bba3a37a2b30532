"""Sends a caller's request on to the worker and its answer back, both as streams."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from urllib.parse import quote

from aiohttp import (
    ClientError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    TraceConfig,
    TraceRequestHeadersSentParams,
    web,
)
from multidict import CIMultiDict
from yarl import URL

type Invoke = Callable[[], Future[bool]]

CONNECT_SECONDS = 10
UNCLAIMED_SECONDS = 1.0
"""How long an invocation may go on after its answer is complete; the library ends it in the same step."""

_HOP_BY_HOP = frozenset(
    {
        *("connection", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_INVOCATION_ID = ("x-ms-invocation-id",)
_SIGNED_IN = ("x-ms-client-principal", "x-ms-token-")
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class BadBody(Exception):
    """The caller's request broke its own framing."""


class WorkerUnreachable(Exception):
    """The worker's HTTP server broke off before it answered."""


class Proxy:
    """A client of the worker's HTTP server; `close` it after use.

    Args:
        http_uri: The server.
        signs_in: Whether something in front of this host plays App Service Authentication: its headers are passed on.
    """

    def __init__(self, http_uri: str, *, signs_in: bool = False) -> None:
        self._http_uri = http_uri
        self._set_by_the_platform = _INVOCATION_ID if signs_in else (*_INVOCATION_ID, *_SIGNED_IN)
        headers_sent = TraceConfig()
        headers_sent.on_request_headers_sent.append(_start_invocation)
        self._session = ClientSession(
            # One connection a request: a kept one could be closed by the worker just when it is used again.
            connector=TCPConnector(limit=0, force_close=True),
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            auto_decompress=False,
            skip_auto_headers=_AUTOMATIC,
            trace_configs=[headers_sent],
        )

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
            request: the caller's.
            invocation_id: ties the HTTP request to the invocation.
            invoke: starts the invocation; called once the request is on its way, so that neither waits in vain.
            extra: headers for the answer, which replace the function's.
            answered: told the status once the answer is complete; the caller may leave at that moment.

        Raises:
            BadBody: nothing was answered, because the request's body is malformed.
            WorkerUnreachable: nothing was answered.
            ConnectionResetError: the answer broke off; the caller's connection must too.
        """
        invocations: list[Future[bool]] = []
        answer: web.StreamResponse | None = None
        try:
            async with self._session.request(
                request.method,
                URL(self._http_uri + target(request), encoded=True),
                headers=_request_headers(request.raw_headers, invocation_id, self._set_by_the_platform),
                data=_upload(request) if request.body_exists else None,
                # The headers go first, so that a function can answer before, or without, reading the body.
                expect100=request.body_exists,
                allow_redirects=False,
                trace_request_ctx=lambda: invocations.append(invoke()),
            ) as worker:
                answer = web.StreamResponse(
                    status=worker.status, reason=worker.reason, headers=_answer_headers(worker.raw_headers, extra)
                )
                await answer.prepare(request)
                async for chunk in worker.content.iter_any():
                    await answer.write(chunk)
                await answer.write_eof()
                answered(worker.status)
                worker.close()  # Whatever of the request's body nobody wanted is not read.
        except ClientError as exc:
            _end_unclaimed(invocations)
            if answer is not None:
                raise ConnectionResetError("The function's answer broke off.") from exc
            if request.content.exception() is not None:
                raise BadBody from exc
            raise WorkerUnreachable from exc
        _end_unclaimed(invocations)
        return answer

    async def close(self) -> None:
        """Close what is still open."""
        await self._session.close()


def target(request: web.BaseRequest) -> str:
    """Return the path and query as they were sent, fit for a request line."""
    raw = request.raw_path
    if not raw.startswith("/"):  # The absolute form, as for a proxy.
        raw = "/" + raw.partition("://")[2].partition("/")[2]
    ascii_marks = "".join(map(chr, range(0x21, 0x7F))).replace("#", "")
    return quote(raw, safe=ascii_marks, errors="surrogateescape")


async def _start_invocation(
    _session: ClientSession, context: SimpleNamespace, _sent: TraceRequestHeadersSentParams
) -> None:
    context.trace_request_ctx()


def _end_unclaimed(invocations: Iterable[Future[bool]]) -> None:
    """End an invocation whose HTTP request the worker's server refused: it would wait for ever."""
    for invocation in invocations:
        asyncio.get_running_loop().call_later(UNCLAIMED_SECONDS, invocation.cancel)


async def _upload(request: web.BaseRequest) -> AsyncIterator[bytes]:
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # The answer itself has not begun.
        request.writer.output_size = 0
    async for chunk in request.content.iter_any():
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
    """Keep what is meant for the other end, with repeated headers repeated."""
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
