"""Routes of the documents in the index: list them, upload one, delete one."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from unicodedata import normalize
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shared import app
from shared.chat_types import Access, Caller, Json
from shared.core.attachments import Attachment
from shared.documents import MAX_NAME_LENGTH, Rights
from shared.documents.listing import ListedDocument, list_documents
from shared.documents.media_types import media_type
from shared.documents.serving import find_document
from shared.errors import BadRequest, NotAllowed, TooLarge, log_fault
from shared.identity import access_of, may_write
from shared.service import Service
from shared.triggers.budget import admit
from shared.triggers.errors import answering, deadline_of, invocation_id, json_response
from shared.triggers.receiving import read_body
from shared.wire.framing import encode_json
from shared.wire.request_body import Body

UPLOAD_LIMIT = 20 * 1024 * 1024
"""Maximum size of an uploaded document, in bytes. It is in memory until it is indexed."""
_MOST_LISTED = 100
"""Documents in one page of the list."""
_MOST_UPLOADS = 4
"""Uploads that are indexed at the same time; others wait for their turn."""
_QUEUED = "It is in the container of documents. The trigger of the container, or the next sync, indexes it."

_uploads = asyncio.Semaphore(_MOST_UPLOADS)
_working: set[asyncio.Task[None]] = set()
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
    """`PUT /documents/{path}`: index a document. The answer has a line for each step, and at last the outcome."""
    from shared.ingestion.upload import check_free, check_name, lock_of

    service, caller, access = await _writer(request)
    target = await app.get_target()
    name = normalize("NFC", str(request.path_params.get("path") or ""))
    check_name(name, target)
    replaces = request.query_params.get("overwrite", "false")
    if replaces not in ("true", "false"):
        raise BadRequest("overwrite: should be true or false.")
    if replaces == "false":
        await check_free(name, target)
    elif access:
        await _require_own(name, access, service)
    rights = _rights(caller, access)
    with ExitStack() as held:
        deadline = deadline_of(request, service.settings.chat_deadline_seconds)
        body = await read_body(request, _BytesReader, deadline, held)
        data = body.files[0].data
        if service.settings.has_container:
            async with lock_of(name):
                await target.documents.keep(name, data, rights if replaces == "false" else None, own=False)
            return json_response({"name": name, "state": "queued", "detail": _QUEUED}, status=202)
        steps = _begin(name, data, rights, held.pop_all(), invocation_id(request))
    return StreamingResponse(_lines(steps), media_type="application/jsonl", headers={"cache-control": "no-store"})


@answering
async def delete_document(request: Request) -> Response:
    """`DELETE /documents/{path}`: delete a document, and what the index has of it."""
    from shared.ingestion.upload import delete

    service, _, access = await _writer(request)
    path = str(request.path_params.get("path") or "")
    document = await find_document(service.documents, path, access, service.retriever.may_see)
    await delete(document.name, await app.get_target())
    return Response(status_code=204)


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


async def _require_own(name: str, access: Access, service: Service) -> None:
    """Check that there is no document of this name that the caller may not see.

    Raises:
        NotAllowed: there is one.
    """
    document = await service.documents.find(name)
    if document and (document.rights.forbid(access) or not await service.retriever.may_see(name, access)):
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


def _begin(
    name: str, data: bytes, rights: Rights, held: ExitStack, invocation: str
) -> asyncio.Queue[dict[str, Json] | None]:
    """Begin to index a document; return where its steps come, and None after the last. It goes on without a reader."""
    from shared.ingestion.upload import upload

    steps: asyncio.Queue[dict[str, Json] | None] = asyncio.Queue()

    async def work() -> None:
        with held:
            try:
                async with _uploads:
                    target = await app.get_target()
                    report = await upload(name, data, rights, target, lambda step: steps.put_nowait({"state": step}))
                outcome: dict[str, Json] = {"state": report.outcome.value, "detail": report.detail}
            except Exception as fault:  # noqa: BLE001 (the outer edge of this task, and log_fault logs it)
                log_fault(fault, invocation)
                outcome = {"state": "failed", "detail": "cannot be indexed because of a defect of the app."}
            steps.put_nowait({"name": name, **outcome})
            steps.put_nowait(None)

    task = asyncio.create_task(work())
    _working.add(task)
    task.add_done_callback(_working.discard)
    return steps


async def _lines(steps: asyncio.Queue[dict[str, Json] | None]) -> AsyncGenerator[bytes]:
    while step := await steps.get():
        yield encode_json(step) + b"\n"


def _listed(one: ListedDocument) -> Json:
    document, extent = one.document, one.extent
    return {
        "name": document.name,
        "type": media_type(document.name),
        "size": document.size,
        "last_modified": document.last_modified.isoformat(),
        "passages": extent.passages if extent else 0,
        "pages": extent.pages if extent else None,
    }
