"""Routes of the documents in the index: list them, upload one, delete one."""

from contextlib import suppress
from unicodedata import normalize
from urllib.parse import urlencode

from starlette.responses import Response

from shared import app
from shared.chat_types import Access, Caller, Json
from shared.documents import MAX_NAME_LENGTH, Rights, StoredDocument, conflict, is_hidden, is_name, listing
from shared.documents.failures import Failure, failures_in, note_of
from shared.documents.own import MINE
from shared.errors import BadRequest, NotAllowed, NotFound
from shared.identity import access_of, is_among
from shared.service import Service
from shared.settings.derived import callers_named
from shared.triggers.door import Call
from shared.triggers.own_documents import (
    Owner,
    begin_upload,
    delete_all,
    delete_from_index,
    delete_own,
    why_not_offered,
)
from shared.triggers.uploads import BytesReader, Upload, failure_json, listed_json
from shared.web.responses import json_response
from shared.wire.request_body import read_limit

_MOST_LISTED = 100
"""Documents in one page of the list."""


async def list_documents(call: Call) -> Response:
    """List the documents.

    The documents that the caller may see, by name. The Link header has the next page. The first page has those that
    could not be indexed, for who may change documents, and for operators.
    """
    service, settings = call.service, call.settings
    query = call.request.query_params
    limit = read_limit(query, _MOST_LISTED)
    search, after = query.get("search", ""), query.get("after", "")
    if max(len(search), len(after)) > MAX_NAME_LENGTH:
        raise BadRequest(f"search, after: should have at most {MAX_NAME_LENGTH:,} characters.")
    access = access_of(call.caller, settings)
    store = await service.documents.get()
    found = await listing.list_documents(
        store,
        access,
        service.retriever.extent,
        search=search,
        after=after,
        limit=limit + 1,
    )
    page = found[:limit]
    listed: list[Json] = [listed_json(one) for one in page]
    may_write = is_among(call.caller, settings.writers)
    is_operator = is_among(call.caller, callers_named(settings.operators))
    failures: list[Failure] = []
    if not after and (may_write or is_operator):
        failures = await failures_in("", store, None if is_operator else access, search)
    failed: list[Json] = [failure_json(one) for one in failures]
    may = {"may_write": may_write, "why_no_own": why_not_offered(settings)}
    next_page = {"search": search, "after": page[-1].document.name, "limit": limit} if len(found) > limit else {}
    return json_response({"documents": listed, "failed": failed, **may}, following=urlencode(next_page))


async def put_document(call: Call) -> Response:
    """Upload a document into the index.

    The body is the document, of up to 20 MiB. Only the caller sees one whose name begins with mine/. Who accepts
    application/x-ndjson gets a line for each step, and one for the outcome; the status is then 200 as soon as the first
    step begins.
    """
    from shared.ingestion.changes import check_name

    name = _name(call)
    overwrite = call.request.query_params.get("overwrite", "false")
    if overwrite not in ("true", "false"):
        raise BadRequest("overwrite: should be true or false.")
    if name.startswith(MINE):
        owner = await Owner.of(call.service, call.caller)
        body = await call.read(BytesReader)
        added = await begin_upload(owner, name, body.files[0].data, call.held, overwrite=overwrite == "true")
        return await added.response(call.request)
    access = _access_of_writer(call)
    target = await app.get_target()
    check_name(name, target)
    replaces = await (await call.service.documents.get()).find(name)
    if replaces and overwrite == "false":
        raise conflict(None)
    await _require_seen(name, replaces, access, call.service)
    rights = _rights(call.caller, access)
    body = await call.read(BytesReader)
    upload = Upload(name, body.files[0].data, replaces, rights, call.held.pop_all())
    return await upload.response(call.request)


async def delete_document(call: Call) -> Response:
    """Delete a document.

    Deletes the document of exactly this name from the index and from the store; `mine`: all of the caller's own.
    """
    name, service = _name(call), call.service
    if f"{name}/".startswith(MINE):
        owner = await Owner.of(service, call.caller)
        await (delete_all(owner) if name == MINE.rstrip("/") else delete_own(owner, name))
        return Response(status_code=204)
    access = _access_of_writer(call)
    if is_hidden(name):
        raise NotFound("There is no such document.")
    store = await service.documents.get()
    document = await store.find(name) if is_name(name) else None
    known = document or await store.find(note_of(name))
    with suppress(NotAllowed):  # the answer does not tell that there is one
        await _require_seen(name, known, access, service)
        if known or await service.retriever.extent(name, access):
            await delete_from_index(name, document, await app.get_target())
            return Response(status_code=204)
    raise NotFound("There is no such document.")


def _access_of_writer(call: Call) -> Access | None:
    """Return what a caller may see who may write documents; raise NotAllowed for others."""
    if not is_among(call.caller, call.settings.writers):
        raise NotAllowed("You may not change the documents here. DOCUMENTS_WRITERS says who may.")
    return access_of(call.caller, call.settings)


def _name(call: Call) -> str:
    return normalize("NFC", str(call.request.path_params.get("path") or ""))


async def _require_seen(name: str, document: StoredDocument | None, access: Access | None, service: Service) -> None:
    """Raise NotAllowed if the caller may not see what the store or the index has of a name."""
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

    Raises NotAllowed if rights are enforced, and the key has no groups: nobody could see the document.
    """
    rights = Rights((caller.oid,)) if caller.oid else Rights(groups=caller.groups or ())
    if access and rights == Rights():
        raise NotAllowed("Your key has no groups, so nobody could see the document. Give it some in API_KEYS.")
    return rights
