"""Makes responses: of a JSON document, of how a run stands, and of a run, which ends when the caller disconnects."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from typing import Protocol as TypingProtocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from shared.chat_types import Json
from shared.runs.begin import Followed
from shared.settings import Settings
from shared.web.public_url import own_url
from shared.wire.framing import BrokenOff, encode_json
from shared.wire.protocol import Protocol, stream_bytes
from shared.wire.run_body import approval_json, utc

if TYPE_CHECKING:
    from shared.runs.following import Report

FIRST_PIECE_TIMEOUT_SECONDS = 2.0
"""Longest wait for the first piece of an answer before the status is sent, in seconds."""
KEEP_ALIVE_SECONDS = 15.0
"""Time without a record after which a stream sends a keep-alive, in seconds: Azure closes idle responses."""
_ASK_AGAIN_SECONDS = 5
"""When to ask again for a run that has not ended."""


def json_response(document: Json, status: int = 200, following: str = "") -> Response:
    """Make a response with a JSON document, which must not be cached.

    Args:
        document: The document.
        status: HTTP status.
        following: For a page of a list: the query of the next one; empty: there is none.
    """
    headers = {"cache-control": "no-store", **({"link": f'<?{following}>; rel="next"'} if following else {})}
    return Response(encode_json(document), status_code=status, headers=headers, media_type="application/json")


def run_url(request: Request, settings: Settings, run_id: str) -> str:
    """Return the URL of a run. Those of the team's batch routes have theirs below the name that is known there."""
    path = "multi-agent-chat/batches" if "/multi-agent-chat/batch" in request.url.path else "runs"
    return f"{own_url(request, settings)}/{path}/{run_id}"


def run_response(request: Request, settings: Settings, report: "Report") -> Response:
    """Make a response of how a run stands: its answer if it has ended, else how it stands.

    A run that has not ended is always a 202 with the same headers, and one that has ended never is: workflows of Logic
    Apps poll by the first, and end at anything else.
    """
    headers = {"cache-control": "no-store", "content-type": "application/json"}
    state, result, run_id = report.standing.state, report.standing.result, report.standing.run_id
    if result:
        return Response(bytes(result.body), result.status, headers)
    headers |= {"location": run_url(request, settings, run_id), "retry-after": str(_ASK_AGAIN_SECONDS)}
    record: Json = {
        "id": run_id,
        "status": "waiting" if state.waits else "running" if state.runner else "queued",
        "created": utc(state.created),
        "messages": report.messages,
    }
    if state.waits:
        record["approvals"] = [approval_json(call) for call in report.calls]
    return Response(encode_json(record), 202, headers)


async def respond(request: Request, protocol: Protocol, followed: Followed, *, team: bool) -> Response:
    """Answer with what comes of a run: with a stream if the request or the protocol wants one, else whole.

    A stream waits for its first piece before its status is sent, so that an early failure gets its own status.

    Args:
        request: The HTTP request.
        protocol: The protocol of the answer.
        followed: The run.
        team: Whether the route is of a team, so that the whole answer has a document of each agent.

    Raises:
        SwitchboardError: there is no answer, and its client is not told so inside one.
    """
    encode = protocol.team_answer if team else protocol.answer
    async with cancelled_on_disconnect(request, followed):
        if followed.report and protocol.unfinished:  # nobody waits for it
            return json_response(protocol.unfinished(followed.request, "queued"))
        if not (followed.request.stream or protocol.answer is None or encode is None):
            return json_response(encode(followed.request, await followed.answer(filter_ends=protocol.filter_ends)))
        failure = await followed.settled(FIRST_PIECE_TIMEOUT_SECONDS)
    if failure and not protocol.sends_inside(failure.error, followed.request):
        raise failure.error
    # aiohttp, and so Open WebUI, drops what it has read of an answer that breaks off.
    can_break = "aiohttp/" not in request.headers.get("user-agent", "")
    lines = stream_bytes(protocol, followed.request, followed.batches(KEEP_ALIVE_SECONDS), breaks_off=can_break)
    headers = {"content-type": protocol.framing.content_type, **protocol.stream_headers}
    make = RecordsResponse if followed.outlives else partial(TurnResponse, turn=followed)
    return make(lines, headers={"cache-control": "no-cache", **headers})


class _Cancellable(TypingProtocol):
    """A turn or a task."""

    def cancel(self) -> object:
        """Ask it to end."""
        ...


class RecordsResponse(StreamingResponse):
    """Streams records. Where they break off, the last bytes of a response stay away, so the server cuts it off."""

    async def stream_response(self, send: Send) -> None:
        """Send them."""
        with suppress(BrokenOff):
            await super().stream_response(send)


class TurnResponse(RecordsResponse):
    """Streams a turn and owns it: the turn is cancelled when sending ends for any reason."""

    def __init__(self, body: AsyncGenerator[bytes], headers: Mapping[str, str], turn: _Cancellable) -> None:
        super().__init__(body, headers={"cache-control": "no-cache", **headers})
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream. When the caller disconnects, cancel the turn, which ends the stream."""
        del scope
        watcher = asyncio.create_task(_cancel_on_disconnect(receive, self._turn))
        try:
            await self.stream_response(send)
        finally:
            watcher.cancel()
            self._turn.cancel()


@asynccontextmanager
async def cancelled_on_disconnect(request: Request, work: _Cancellable) -> AsyncGenerator[None]:
    """Cancel a turn, or a task, if the caller disconnects before the response starts."""
    watcher = asyncio.create_task(_cancel_on_disconnect(request.receive, work))
    try:
        yield
    except BaseException:
        work.cancel()  # else a turn would run until its deadline
        raise
    finally:
        watcher.cancel()


async def until_disconnected[Result](request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Await a coroutine; it is cancelled if the caller disconnects.

    Raises:
        ClientDisconnect: the caller has disconnected.
    """
    task = asyncio.create_task(work)
    async with cancelled_on_disconnect(request, task):
        await asyncio.wait([task])
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def _cancel_on_disconnect(receive: Receive, work: _Cancellable) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()
