"""Routes of the documents in the index: list them, upload one, delete one."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import Access, Caller, Json
from shared.core.attachments import Attachment
from shared.documents import MAX_NAME_LENGTH, Rights, StoredDocument, conflict, is_hidden, is_name
from shared.documents.listing import ListedDocument, list_documents
from shared.documents.media_types import media_type
from shared.errors import BadRequest, InternalError, NotAllowed, NotFound, SwitchboardError, TooLarge, log_fault
from shared.identity import access_of, may_write
from shared.service import Service
from shared.triggers.budget import admit
from shared.triggers.errors import answering, deadline_of, invocation_id, json_response
from shared.triggers.receiving import read_body
from shared.wire.framing import encode_json
from shared.wire.request_body import Body

if TYPE_CHECKING:
    from shared.ingestion import FileReport

UPLOAD_LIMIT = 20 * 1024 * 1024
"""Maximum size of an uploaded document, in bytes. It is in memory until it is indexed."""
_MOST_LISTED = 100
"""Documents in one page of the list."""
_MOST_UPLOADS = 4
"""Uploads that are indexed at the same time; others wait for their turn."""
_LINES = "application/x-ndjson"

_uploads = asyncio.Semaphore(_MOST_UPLOADS)
_working: set["asyncio.Task[FileReport]"] = set()
"""Uploads that go on when their caller has left."""


@answering
async def list_all_documents(request: Request) -> Response:
    """`GET /documents`: the documents that the caller may see, by name, a page at a time."""
    service, caller, access = await _caller(request)
    query = request.query_params
    limit = query.get("limit") or str(_MOST_LISTED)
    if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= _MOST_LISTED:
        raise BadRequest(f"limit: should be a whole number from 1 to {_MOST_LISTED}.")
    search, after = query.get("search", ""), query.get("after", "")
    if max(len(search), len(after)) > MAX_NAME_LENGTH:
        raise BadRequest(f"search, after: should have at most {MAX_NAME_LENGTH:,} characters.")
    found = await list_documents(
        service.documents,
        access,
        service.retriever.extent,
        search=search,
        after=after,
        limit=int(limit) + 1,
    )
    page = found[: int(limit)]
    listed: list[Json] = [_listed(one) for one in page]
    response = json_response({"documents": listed, "may_write": may_write(caller, service.settings)})
    if len(found) > len(page):
        following = urlencode({"search": search, "after": page[-1].document.name, "limit": limit})
        response.headers["link"] = f'<?{following}>; rel="next"'
    return response


@answering
async def put_document(request: Request) -> Response:
    """`PUT /documents/{path}`: index a document. Who accepts `application/x-ndjson` gets a line for each step."""
    from shared.ingestion.changes import check_name

    service, caller, access = await _writer(request)
    target = await app.get_target()
    name = _name(request)
    check_name(name, target)
    overwrite = request.query_params.get("overwrite", "false")
    if overwrite not in ("true", "false"):
        raise BadRequest("overwrite: should be true or false.")
    replaces = await service.documents.find(name)
    if replaces and overwrite == "false":
        raise conflict(None)
    await _require_seen(name, replaces, access, service)
    rights = _rights(caller, access)
    with ExitStack() as held:
        deadline = deadline_of(request, service.settings.chat_deadline_seconds)
        body = await read_body(request, _BytesReader, deadline, held)
        upload = _Upload(name, body.files[0].data, replaces, rights, held.pop_all())
    first = await upload.steps.get() if _accepts_lines(request) else None
    if first:  # else it has ended before its first step
        lines = upload.lines(first, invocation_id(request))
        return StreamingResponse(lines, media_type=_LINES, headers={"cache-control": "no-store"})
    report = await asyncio.shield(upload.work)
    return json_response(_outcome(report), status=202 if report.outcome == "queued" else 200)


@answering
async def delete_document(request: Request) -> Response:
    """`DELETE /documents/{path}`: delete the document of exactly this name, and what the index has of it."""
    from shared.ingestion.changes import delete

    service, _, access = await _writer(request)
    name = _name(request)
    document = await service.documents.find(name) if is_name(name) and not is_hidden(name) else None
    with suppress(NotAllowed):  # the answer does not tell that there is one
        await _require_seen(name, document, access, service)
        if document or await service.retriever.extent(name, access):
            report = await delete(name, document, await app.get_target())
            if report.outcome != "removed":
                raise conflict(document)
            return Response(status_code=204)
    raise NotFound("There is no such document.")


class _BytesReader:
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


async def _caller(request: Request) -> tuple[Service, Caller, Access | None]:
    """Return the service, the caller and what the caller may see."""
    service = await app.get_service()
    caller = await service.identity.caller(request.headers)
    admit(request, service, caller)
    return service, caller, access_of(caller, service.settings)


async def _writer(request: Request) -> tuple[Service, Caller, Access | None]:
    """The same, if the caller may write documents.

    Raises:
        NotAllowed: the caller may not.
    """
    service, caller, access = await _caller(request)
    if not may_write(caller, service.settings):
        raise NotAllowed("You may not change the documents here. DOCUMENTS_WRITERS says who may.")
    return service, caller, access


def _name(request: Request) -> str:
    return normalize("NFC", str(request.path_params.get("path") or ""))


def _accepts_lines(request: Request) -> bool:
    kinds = request.headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == _LINES for kind in kinds)


async def _require_seen(name: str, document: StoredDocument | None, access: Access | None, service: Service) -> None:
    """Check that the caller may see what the store and the index have of a name, if they have anything.

    Raises:
        NotAllowed: the caller may not.
    """
    if access is None:
        return
    is_seen = not (document and document.rights.forbid(access))
    if await service.retriever.extent(name, None):
        is_seen &= await service.retriever.extent(name, access) is not None
    elif document:
        is_seen = document.rights.allow(access)
    if not is_seen:
        raise NotAllowed("There is a document of this name that you may not replace. Choose another name.")


def _rights(caller: Caller, access: Access | None) -> Rights:
    """Who may see what this caller uploads: the user, or the groups of the key.

    Raises:
        NotAllowed: rights are enforced, and the caller's key has no groups: nobody could see the document.
    """
    rights = Rights((caller.oid,)) if caller.oid else Rights(groups=caller.groups or ())
    if access and rights == Rights():
        raise NotAllowed("Your key has no groups, so nobody could see the document. Give it some in API_KEYS.")
    return rights


class _Upload:
    """A document that is being indexed, whether or not its caller waits for it.

    Args:
        name: Its name.
        data: Its bytes.
        replaces: The version that the caller may replace.
        rights: Who may see it.
        held: Closed when the bytes are no longer needed.
    """

    def __init__(
        self, name: str, data: bytes, replaces: StoredDocument | None, rights: Rights, held: ExitStack
    ) -> None:
        self.steps: asyncio.Queue[str | None] = asyncio.Queue()
        """Each step when it begins, and None at the end."""
        self.work = asyncio.create_task(self._work(name, data, replaces, rights, held))
        _working.add(self.work)
        self.work.add_done_callback(_forget)

    async def lines(self, first: str, invocation: str) -> AsyncGenerator[bytes]:
        """Yield a line for each step, and one for the outcome."""
        step: str | None = first
        while step:
            yield encode_json({"state": step}) + b"\n"
            step = await self.steps.get()
        outcome: dict[str, Json]
        try:
            outcome = _outcome(await asyncio.shield(self.work))
        except SwitchboardError as error:
            outcome = {"state": "failed", "detail": error.message}
        except Exception as fault:  # noqa: BLE001 (the outer edge of this answer, and log_fault logs it)
            log_fault(fault, invocation)
            outcome = {"state": "failed", "detail": InternalError().message}
        yield encode_json(outcome) + b"\n"

    async def _work(
        self, name: str, data: bytes, replaces: StoredDocument | None, rights: Rights, held: ExitStack
    ) -> "FileReport":
        from shared.ingestion.changes import write

        try:
            with held:
                async with _uploads:
                    return await write(name, data, replaces, rights, await app.get_target(), self.steps.put_nowait)
        finally:
            self.steps.put_nowait(None)


def _forget(work: "asyncio.Task[FileReport]") -> None:
    _working.discard(work)
    if not work.cancelled():
        work.exception()  # its caller may have left, and asyncio would log a fault that nobody has looked at


def _outcome(report: "FileReport") -> dict[str, Json]:
    return {"name": report.name, "state": report.outcome.value, "detail": report.detail}


def _listed(one: ListedDocument) -> Json:
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
