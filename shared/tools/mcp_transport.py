"""Sends messages of the Model Context Protocol over HTTP and reads the answers. Imports aiohttp: import it late.

A server that asks back in its answer is refused: nobody is there to answer it.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

import aiohttp
import msgspec

from shared.chat_models.sse_reader import SseReader, StreamTooLong
from shared.chat_types import Json, RequestContext
from shared.outbound.bounded import body_of, pieces
from shared.outbound.faults import LARGEST_REFUSAL, Fault, Reason, ServiceFault, reason_of_status
from shared.outbound.sending import Connections
from shared.tools.mcp_messages import MODERN, Incoming, RpcError, request
from shared.tools.signing_in import SignIn

_ASIDE_SECONDS = 5.0
"""Time limit of what nobody waits for."""
_MOST_VALUES = 600_000
"""Commas in an answer: to decode four megabytes of tiny values takes the event loop a tenth of a second."""
_NOT_HERE = -32601
_NOT_FOUND = 404


class RpcFailure(Exception):
    """A server answered with an error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.code)
        self.error = error


class SessionGone(Exception):
    """The server has forgotten the session: what was sent did not run."""


@dataclass(slots=True, eq=False)
class Session:
    """A session of the revisions before 2026-07-28."""

    context: RequestContext
    """Context of the request for which the session was begun."""
    version: str = ""
    """The revision that was agreed on; empty: the session has not begun."""
    id: str = ""
    """Empty: the server keeps no sessions."""
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while it begins."""
    closing: asyncio.TimerHandle | None = None
    """Ends it some time after its last request."""


class McpTransport:
    """What messages to one server are sent by.

    Args:
        url: Where it is.
        connections: What requests are sent with.
        sign_in: Signs requests in.
    """

    def __init__(self, url: str, connections: Connections, sign_in: SignIn) -> None:
        self._url = url
        self._connections = connections
        self._sign_in = sign_in
        self._numbers = count(1)
        self._aside = set[asyncio.Task[None]]()

    async def ask(
        self,
        method: str,
        params: Mapping[str, Json],
        context: RequestContext,
        session: Session | None,
        headers: Mapping[str, str] | None = None,
    ) -> msgspec.Raw:
        """Send a request, and return its result.

        Args:
            method: The method.
            params: Its parameters.
            context: The request's, whose caller may be signed in.
            session: The session of an older revision; None: of 2026-07-28, which has none.
            headers: More headers.

        Raises:
            RpcFailure: the server answers with an error.
            SessionGone: it has forgotten the session.
            ServiceFault: there is no answer.
        """
        number = next(self._numbers)
        body = request(number, method, params, modern=session is None)
        more = {"mcp-protocol-version": MODERN, "mcp-method": method, **(headers or {})} if session is None else {}
        try:
            async with aclosing(self._messages(body, context, session, more)) as messages:
                async for message in messages:
                    if message.method is not None:
                        await self._refuse(message, context, session)
                    elif message.error is not None:
                        raise RpcFailure(message.error)
                    elif message.id == number and memoryview(message.result).nbytes:
                        return message.result
        except asyncio.CancelledError:
            if session is not None:
                cancelled: dict[str, Json] = {"requestId": number, "reason": "nobody waits for it"}
                self.aside(self.notify("notifications/cancelled", cancelled, context, session))
            raise
        raise ServiceFault(Fault(Reason.CUT_OFF))

    async def notify(self, method: str, params: Mapping[str, Json], context: RequestContext, session: Session) -> None:
        """Send a notification.

        Raises:
            ServiceFault: the server cannot be reached.
        """
        body = msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})
        async with self._post(body, context, session, {}):
            pass  # whatever a server answers all the same counts for nothing

    async def end(self, session: Session) -> None:
        """End a session."""
        credentials = await self._sign_in(session.context)
        headers = {**_session_headers(session), **credentials.headers}
        async with self._connections.send("DELETE", self._url, headers, [*credentials.query.items()]):
            pass

    def aside(self, work: Coroutine[None, None, None]) -> None:
        """Do something that nobody waits for, and whose failure changes nothing."""

        async def limited() -> None:
            with suppress(ServiceFault, RpcFailure, SessionGone, TimeoutError):
                async with asyncio.timeout(_ASIDE_SECONDS):
                    await work

        task = asyncio.create_task(limited())
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def settle(self) -> None:
        """Wait until all that is done aside has ended."""
        await asyncio.gather(*self._aside)

    @asynccontextmanager
    async def _post(
        self, body: bytes, context: RequestContext, session: Session | None, more: Mapping[str, str]
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        credentials = await self._sign_in(context)
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **(_session_headers(session) if session else {}),
            **more,
            **credentials.headers,
        }
        async with self._connections.send("POST", self._url, headers, [*credentials.query.items()], body) as response:
            if session and not session.version:  # later ones may be other callers' answers in a session that all share
                session.id = response.headers.get("mcp-session-id", "")
            yield response

    async def _messages(
        self, body: bytes, context: RequestContext, session: Session | None, more: Mapping[str, str]
    ) -> AsyncGenerator[Incoming]:
        async with self._post(body, context, session, more) as response:
            kind = response.content_type
            if response.status >= 400:
                yield await _refusal(response, kind, session)
            elif kind == "text/event-stream":
                async for data in _events(response):
                    yield _incoming(data)
            elif kind == "application/json" and response.status == 200:
                yield _incoming(await body_of(response))
            elif response.status == 200:
                raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status))

    async def _refuse(self, message: Incoming, context: RequestContext, session: Session | None) -> None:
        """Answer a request that a server of an older revision makes in its answer; a notification needs none."""
        if message.id is None or session is None:
            return
        answer: dict[str, Json] = {"jsonrpc": "2.0", "id": message.id}
        if message.method == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": _NOT_HERE, "message": "This client answers no requests: nobody can be asked."}
        async with self._post(msgspec.json.encode(answer), context, session, {}):
            pass


def _session_headers(session: Session) -> dict[str, str]:
    headers = {"mcp-session-id": session.id, "mcp-protocol-version": session.version}
    return {name: value for name, value in headers.items() if value}


async def _refusal(response: aiohttp.ClientResponse, kind: str, session: Session | None) -> Incoming:
    """Read the error of an answer that is no success; raise SessionGone or ServiceFault if it has only a status."""
    if response.status == _NOT_FOUND and session is not None and session.id and session.version:
        raise SessionGone
    fault = ServiceFault(Fault(reason_of_status(response.status), response.status))
    if kind != "application/json" or response.status in (401, 403):
        raise fault
    try:
        message = decoded(await body_of(response, LARGEST_REFUSAL), Incoming)
    except ServiceFault:
        raise fault from None
    if message.error is None:
        raise fault
    return message


async def _events(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    reader = SseReader()
    try:
        async with aclosing(pieces(response)) as received:
            async for piece in received:
                for data in reader.feed(piece):
                    if data.strip():
                        yield data
    except StreamTooLong:
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status)) from None
    for data in reader.flush():
        if data.strip():
            yield data


def _incoming(data: bytes) -> Incoming:
    if data.count(b",") > _MOST_VALUES:
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER))
    return decoded(data, Incoming)


def decoded[T](data: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON.

    Raises:
        ServiceFault: it is something else.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from None
