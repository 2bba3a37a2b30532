"""Documents that are being indexed, and what their callers are told of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Json
from shared.core.attachments import Attachment
from shared.documents import Rights, StoredDocument, own
from shared.documents.failures import Failure
from shared.documents.listing import ListedDocument as Listed
from shared.documents.media_types import media_type
from shared.errors import BadRequest, InternalError, SwitchboardError, TooLarge, log_fault
from shared.runtime.background import in_background
from shared.triggers.errors import invocation_id
from shared.web.responses import TurnResponse, cancelled_on_disconnect, json_response
from shared.wire.framing import encode_json
from shared.wire.reasons import beside, reason_of
from shared.wire.request_body import Body

if TYPE_CHECKING:
    from shared.ingestion import FileReport

UPLOAD_LIMIT = 20 * 1024 * 1024
"""Maximum size of an uploaded document, in bytes. It is in memory until it is indexed."""
_MOST_UPLOADS = 4
"""Uploads that are indexed at the same time; others wait for their turn, and people's own not for those to all."""
_LINES = "application/x-ndjson"

_uploads = {is_own: asyncio.Semaphore(_MOST_UPLOADS) for is_own in (False, True)}


class BytesReader:
    """Reads a body as it is."""

    def __init__(self) -> None:
        self._read = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; raises TooLarge over the limit."""
        if len(self._read) + len(chunk) > UPLOAD_LIMIT:
            raise TooLarge(
                f"The document is over {UPLOAD_LIMIT // 2**20} MiB. Split it, or use `make index DOCS=folder`."
            )
        self._read += chunk

    def finish(self) -> Body:
        """Return the bytes as the only file; raises BadRequest if there are none."""
        if not self._read:
            raise BadRequest("The request has no body: send the bytes of the document.")
        return Body({}, (Attachment("body", 0, 0, "", "", None, bytes(self._read)),))


class Upload:
    """A document that is being indexed: once it is read, whether or not its caller waits for it.

    Args:
        name: Its name.
        data: Its bytes.
        replaces: The version that the caller may replace.
        rights: Who may see it.
        held: Closed when the bytes are no longer needed.
        shown: Its name for the caller; empty: the same.
    """

    def __init__(
        self,
        name: str,
        data: bytes,
        replaces: StoredDocument | None,
        rights: Rights,
        held: ExitStack,
        *,
        shown: str = "",
    ) -> None:
        self.steps: asyncio.Queue[str | None] = asyncio.Queue()
        """Each step when it begins, and None at the end."""
        self._is_read = False
        self.work = in_background(self._work(name, data, replaces, rights, held))
        self._shown = shown or name
        self.work.add_done_callback(_forget)

    async def response(self, request: Request) -> Response:
        """Answer with the outcome, or with a line for each step."""
        if _accepts_lines(request):
            async with cancelled_on_disconnect(request, self):
                first = await self.steps.get()
            if first:  # else it has ended before its first step
                headers = {"content-type": _LINES, "cache-control": "no-store"}
                return TurnResponse(self.lines(first, invocation_id(request)), headers, self)
        outcome = await self.outcome(request)
        return json_response(outcome, status=202 if outcome["state"] == "queued" else 200)

    async def outcome(self, request: Request) -> dict[str, Json]:
        """Wait for the outcome, and return what the caller is told of it."""
        async with cancelled_on_disconnect(request, self):
            return await self._outcome()

    def cancel(self) -> None:
        """End it if the document is still being read: its caller has left. What is begun to be written is finished."""
        if not self._is_read:
            self.work.cancel()

    async def lines(self, first: str, invocation: str) -> AsyncGenerator[bytes]:
        """Yield a line for each step, and one for the outcome."""
        step: str | None = first
        while step:
            yield encode_json({"state": step}) + b"\n"
            step = await self.steps.get()
        outcome: dict[str, Json]
        try:
            outcome = await self._outcome()
        except SwitchboardError as error:
            outcome = {"state": "failed", "detail": error.message, "code": error.code, **beside(error)}
        except Exception as fault:  # noqa: BLE001 (the outer edge of this answer, and log_fault logs it)
            log_fault(fault, invocation)
            outcome = {"state": "failed", "detail": InternalError().message, "code": InternalError.code}
        yield encode_json(outcome) + b"\n"

    async def _outcome(self) -> dict[str, Json]:
        await asyncio.wait([self.work])
        if self.work.cancelled():
            raise ClientDisconnect
        report = self.work.result()
        return {"name": self._shown, "state": report.outcome.value, "detail": report.detail}

    async def _work(
        self, name: str, data: bytes, replaces: StoredDocument | None, rights: Rights, held: ExitStack
    ) -> "FileReport":
        from shared.ingestion.changes import write

        def step(name: str) -> None:
            self._is_read = name != "reading"
            self.steps.put_nowait(name)

        try:
            with held:
                async with _uploads[name.startswith(own.PEOPLE)]:
                    return await write(name, data, replaces, rights, await app.get_target(), step)
        finally:
            self.steps.put_nowait(None)


def _accepts_lines(request: Request) -> bool:
    kinds = request.headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == _LINES for kind in kinds)


def _forget(work: "asyncio.Task[FileReport]") -> None:
    if not work.cancelled():
        work.exception()  # its caller may have left, and asyncio would log a fault that nobody has looked at


def listed_json(one: Listed) -> dict[str, Json]:
    """Make the entry of a document in a list."""
    document, extent = one.document, one.extent
    return {
        "name": document.name,
        "type": media_type(document.name),
        "size": document.size,
        "last_modified": document.last_modified.isoformat(),
        "passages": extent.passages if extent else 0,
        "pages": extent.pages if extent else None,
        "left_out": extent.left_out if extent else "",
    }


def failure_json(one: Failure) -> dict[str, Json]:
    """Make the entry of a document that could not be indexed."""
    failed = {"name": one.name, "state": "failed", "detail": one.detail, "when": one.when.isoformat()}
    return {**failed, **reason_of(one.detail)}
