"""Documents that a person has added and that only this person sees: list, upload and delete them.

The routes are `/documents/mine…`, and those by which azure-search-openai-demo's page does the same.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING
from unicodedata import normalize
from weakref import WeakValueDictionary

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from shared import app
from shared.chat_types import Caller, Json
from shared.documents import DocumentReader, Rights, StoredDocument, conflict, is_name
from shared.documents.failures import FAILED, failures_in, note_of
from shared.documents.listing import ListedDocument as Listed
from shared.documents.own import MINE, folder_of, shown_name
from shared.errors import BadRequest, NotFound, NotSignedIn, TooLarge
from shared.runtime.features import is_there, lack_of
from shared.service import Service
from shared.settings import Settings
from shared.triggers.demo_page import require_demo
from shared.triggers.door import Call, checked_first
from shared.triggers.uploads import Upload, failure_json, listed_json
from shared.web.responses import json_response
from shared.wire.multipart import file_form_reader
from shared.wire.request_body import JsonReader

if TYPE_CHECKING:
    from shared.ingestion.document import Target

_ASKED_TOGETHER = 8
"""Documents about which the store or the index is asked at the same time."""
MOST_BYTES = 100_000_000
"""Maximum size of all documents of one person, in bytes."""
MOST_PAGES = 5_000
"""Maximum number of their pages; a document without pages counts a page for each passage."""
_LONGEST_NAME_BODY = 10_000
_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""One for each owner who adds documents now: they are counted before each."""


def why_not_offered(settings: Settings) -> str | None:
    """Return why people cannot add documents of their own, as a sentence; None: they can."""
    if settings.takes_uploads:
        return None
    if settings.auth_mode == "none":
        return "Nobody signs in here, so nobody can have documents of their own: set AUTH_MODE."
    if settings.user_uploads == "off":
        return "People cannot add documents of their own here: USER_UPLOADS is off."
    if not is_there("readers"):
        return lack_of("readers")
    return "People cannot add documents of their own here: others write the index (USER_UPLOADS)."


class Owner(msgspec.Struct, frozen=True):
    """A caller who may have documents, and where they are."""

    service: Service
    """The app."""
    caller: Caller
    """The caller."""
    folder: str
    """The caller's folder."""
    store: DocumentReader
    """Where all documents are."""

    @classmethod
    async def of(cls, service: Service, caller: Caller) -> "Owner":
        """Make the owner of a caller.

        Raises:
            NotFound: nobody can have documents here; says why.
            NotSignedIn: the caller has no name.
        """
        if reason := why_not_offered(service.settings):
            raise NotFound(reason)
        if not (folder := folder_of(caller)):
            raise NotSignedIn("Sign in: documents of your own need a name to belong to.")
        return cls(service, caller, folder, await service.documents.get())

    def names(self) -> AsyncGenerator[str]:
        """Yield the names of all documents, in any order."""
        names = self.store.names(self.folder)
        return (name async for name in names if not name.startswith(self.folder + FAILED))

    async def listed(self) -> list[Listed]:
        """Return all documents, with what the index has of each."""
        most = 2 * self.service.settings.limit_caller_documents
        names = sorted([name async for name in self.names()])[:most]
        listed: list[Listed] = []
        for some in batched(names, _ASKED_TOGETHER, strict=False):
            found = [one for one in await asyncio.gather(*map(self.store.find, some)) if one]
            extents = await asyncio.gather(*(self.service.retriever.extent(one.name, None) for one in found))
            listed += map(Listed, found, extents)
        return listed

    async def replaced(self, name: str, size: int, *, overwrite: bool) -> StoredDocument | None:
        """Return the document that one of so many bytes replaces, if there is one.

        Raises:
            AlreadyThere: there is one, and it is not to be replaced.
            TooLarge: there would be too many, or too much.
        """
        document = await self.store.find(name)
        if document and not overwrite:
            raise conflict(None)
        used = _used([one for one in await self.listed() if one.document.name != name])
        for what, limit in _limits(self.service.settings).items():
            if used[what] + (size if what == "bytes" else 1) > limit:
                raise TooLarge(f"You may have {limit:,} {what} of your own here. Delete some first.")
        return document


def _used(listed: Sequence[Listed]) -> dict[str, int]:
    """Return how much documents take. One without pages has a page for each passage."""
    pages = sum(one.extent.pages or one.extent.passages for one in listed if one.extent)
    return {"documents": len(listed), "bytes": sum(one.document.size for one in listed), "pages": pages}


def _limits(settings: Settings) -> dict[str, int]:
    return {"documents": settings.limit_caller_documents, "bytes": MOST_BYTES, "pages": MOST_PAGES}


def _require_offered(_request: Request) -> None:
    """Raise NotFound if nobody can have documents here."""
    if reason := why_not_offered(app.get_settings()):
        raise NotFound(reason)


def _require_demo_and_offered(request: Request) -> None:
    require_demo(request)
    _require_offered(request)


@checked_first(_require_offered)
async def list_own_documents(call: Call) -> Response:
    """List the caller's own documents.

    The documents that only the caller sees, which PUT and DELETE know by names that begin with mine/. 404 says why
    nobody can have some.
    """
    owner = await Owner.of(call.service, call.caller)
    listed, settings = await owner.listed(), owner.service.settings
    documents: list[Json] = [
        {**listed_json(one), "name": shown_name(one.document.name, owner.folder)} for one in listed
    ]
    used: Json = {**_used(listed)}
    limits: Json = {**_limits(settings)}
    failed: list[Json] = [
        {**failure_json(one), "name": shown_name(one.name, owner.folder)}
        for one in await failures_in(owner.folder, owner.store, None)
    ]
    days = settings.user_uploads_days or None
    return json_response({"documents": documents, "failed": failed, "used": used, "limits": limits, "kept_days": days})


async def begin_upload(owner: Owner, shown: str, data: bytes, held: ExitStack, *, overwrite: bool) -> Upload:
    """Begin to index a document of somebody's own.

    Args:
        owner: The owner.
        shown: Its name, as the owner sees it.
        data: Its bytes.
        held: Closed when they are no longer needed.
        overwrite: Whether it may take the place of another one.

    Raises:
        BadRequest: no document can have this name.
        AlreadyThere: there is one of this name.
        TooLarge: there is no room for it.
    """
    from shared.ingestion.changes import check_name

    target = await app.get_target()
    name = owner.folder + shown.removeprefix(MINE)
    check_name(shown.removeprefix(MINE), target)
    if not is_name(name):
        raise BadRequest("The name of the document is too long.")
    lock = _locks.setdefault(owner.folder, asyncio.Lock())
    await lock.acquire()  # until it is kept, so that the next one finds it
    try:
        replaces = await owner.replaced(name, len(data), overwrite=overwrite)
        upload = Upload(name, data, replaces, Rights((owner.folder,)), held.pop_all(), shown=shown)
    except BaseException:
        lock.release()
        raise
    upload.work.add_done_callback(lambda _: lock.release())
    return upload


async def delete_own(owner: Owner, shown: str) -> None:
    """Delete one of somebody's own documents.

    Raises:
        NotFound: there is none of this name.
        AlreadyThere: it was replaced meanwhile.
    """
    name = owner.folder + shown.removeprefix(MINE)
    document = await owner.store.find(name) if is_name(name) else None
    known = document or await owner.store.find(note_of(name))
    if known is None and not await owner.service.retriever.extent(name, None):
        raise NotFound("There is no such document.")
    await delete_from_index(name, document, await app.get_target())


async def delete_all(owner: Owner) -> None:
    """Delete all of somebody's own documents."""
    target = await app.get_target()
    for name in [name async for name in owner.store.names(owner.folder)]:
        await delete_from_index(name, await owner.store.find(name), target)


async def delete_from_index(name: str, document: StoredDocument | None, target: "Target") -> None:
    """Delete a document from the index and from the store; raise AlreadyThere if it was replaced meanwhile."""
    from shared.ingestion.changes import delete

    if (await delete(name, document, target)).outcome != "removed":
        raise conflict(document)


@checked_first(_require_demo_and_offered)
async def demo_upload(call: Call) -> Response:
    """Add a document that only the caller sees.

    A form with one file, in a part named 'file'. It replaces one of the same name.
    """
    owner = await Owner.of(call.service, call.caller)
    body = await call.read(partial(file_form_reader, call.request.headers.get("content-type", "")))
    file = body.files[0]
    name = normalize("NFC", re.split(r"[/\\]", file.filename)[-1].strip())
    upload = await begin_upload(owner, f"{MINE}{name}", file.data, call.held, overwrite=True)
    await upload.outcome(call.request)
    return json_response({"message": "File uploaded successfully"})


@checked_first(_require_demo_and_offered)
async def demo_list_uploaded(call: Call) -> Response:
    """List the names of these documents.

    By name.
    """
    owner = await Owner.of(call.service, call.caller)
    names = [name async for name in owner.names()]
    return json_response([name.removeprefix(owner.folder) for name in sorted(names)])


@checked_first(_require_demo_and_offered)
async def demo_delete_uploaded(call: Call) -> Response:
    """Delete one of these documents.

    Deletes it from the index and from the store.
    """
    owner = await Owner.of(call.service, call.caller)
    body = await call.read(partial(JsonReader, _LONGEST_NAME_BODY, '{"filename": "plan.pdf"}'))
    name = body.json.get("filename")
    if not isinstance(name, str) or not name:
        raise BadRequest("filename: should be the name of the document.")
    await delete_own(owner, f"{MINE}{normalize('NFC', name)}")
    return json_response({"message": f"File {name} deleted successfully"})
