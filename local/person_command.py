"""Export or delete what the app keeps of one person: `python -m local.person_command ID --out FILE.zip | --erase`.

ID is the name of an API key, `user:{tenant}/{object id}`, or the object id alone where `AUTH_TENANT_ID` names the
tenant. The stores are those that the settings name. An export is a ZIP file: `person.json`, and the person's own
documents. A deletion that breaks off goes on when it is run again; it ends with a look at what is left.

Exit codes: 0 if it is done; 1 if something is left, or nothing was found; 2 if the command or the settings are wrong.
"""

import argparse
import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import apsw
import msgspec
from azure.core.exceptions import AzureError

from local import HostError
from local.audit_command import open_hours, without_texts
from local.settings_of_commands import read_settings
from shared.chat_types import Caller
from shared.documents import DocumentReader, StoredDocument
from shared.documents.failures import FAILED, failures_in
from shared.documents.own import MINE, folder_of, shown_name
from shared.errors import InternalError, NotConfigured, NotFound, SwitchboardError
from shared.history import Conversation, HistoryStore, ListPosition, Page
from shared.history.sharing import link_of, stop_sharing
from shared.ingestion import changes
from shared.ingestion.document import Target
from shared.outbound.sqlite_file import BUSY_MILLISECONDS
from shared.parts import build_runs, build_service, open_audit, open_history, open_target
from shared.runs import direct_line, records
from shared.runs.claim import read_request, read_result, read_state
from shared.runs.registry import Runs
from shared.settings import Settings
from shared.verdicts import VerdictStore

_OBJECT_ID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


_MOST_LOOKS = 3
"""How often a deletion looks for what came meanwhile."""


@dataclass(frozen=True, slots=True)
class _Stores:
    """Where something of a person can be."""

    history: HistoryStore
    verdicts: VerdictStore | None
    target: Target
    runs: Runs | None


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.person_command", description=__doc__)
    parser.add_argument("id", help="the name of an API key, user:{tenant}/{object id}, or an object id")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--out", type=Path, help="the ZIP file to write, such as ada.zip")
    wanted.add_argument("--erase", action="store_true", help="delete all of it, for good")
    values = parser.parse_args()
    try:
        settings = read_settings()
        caller = caller_named(values.id, settings.auth_tenant_id)
        return asyncio.run(_erase(caller, settings) if values.erase else _export(caller, settings, values.out))
    except (HostError, NotConfigured, SwitchboardError) as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except OSError as fault:
        sys.stderr.write(f"{values.out} cannot be written: {fault.strerror}.\n")
        return 2


def caller_named(name: str, tenant: str | None) -> Caller:
    """Return the person that an id of the command names.

    Raises:
        NotConfigured: an object id is given, and no setting names its tenant.
    """
    if name.startswith("user:"):
        home, _, oid = name.removeprefix("user:").partition("/")
        return Caller(oid, tenant=home or None)
    if not _OBJECT_ID.fullmatch(name):
        return Caller(key=name.removeprefix("key:"))
    if tenant is None:
        raise NotConfigured(f"Of which tenant is {name}? Set AUTH_TENANT_ID, or name it: user:TENANT/{name}.")
    return Caller(name.lower(), tenant=tenant)


async def _export(caller: Caller, settings: Settings, out: Path) -> int:
    owner, stores = caller.id or "", _open(settings)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f"{out.name}.part")
    chats = [await _chat(stores.history, owner, chat) async for chat in _chats_of(stores.history, owner)]
    answers = await stores.verdicts.answers_of(owner) if stores.verdicts else ()
    runs = [await _run(stores.runs, name) async for name in _runs_of(stores.runs, owner)] if stores.runs else []
    documents = list[dict[str, Any]]()
    with ZipFile(partial, "w", ZIP_DEFLATED) as file:
        async for document in _documents_of(stores.target.documents, caller):
            if (name := shown_name(document.name, folder_of(caller))).startswith(MINE + FAILED):
                continue
            documents.append({"name": name, "bytes": document.size, "added": document.last_modified})
            with file.open(f"documents/{name}", "w") as entry:
                async for piece in stores.target.documents.read(document):
                    entry.write(piece)
        person = {
            "id": owner,
            "exported": datetime.now(UTC),
            "chats": chats,
            "answers": [{"answer": answer, "verdict": verdict} for answer, verdict in answers],
            "runs": runs,
            "documents": documents,
            "failed_documents": await failures_in(folder_of(caller), stores.target.documents, None),
        }
        file.writestr("person.json", msgspec.json.format(msgspec.json.encode(person), indent=2))
    await _in_audit("exported", "begun", caller, settings)
    partial.replace(out)
    counts = {"chats": len(chats), "answers": len(answers), "runs": len(runs), "documents": len(documents)}
    print(f"{owner}: {_told(counts)} -> {out}")
    await _in_audit("exported", "done", caller, settings)
    return 0 if any(counts.values()) else 1


async def _chat(history: HistoryStore, owner: str, chat: Conversation) -> dict[str, Any]:
    messages = await history.messages(owner, chat.id)
    return {"chat": chat, "shared_as": await link_of(history, owner, chat.id), "messages": messages}


async def _run(runs: Runs, run_id: str) -> dict[str, Any]:
    request, body = await read_request(runs.store, run_id)
    result = await read_result(runs.store, run_id)
    return {
        "id": run_id,
        "asked": datetime.fromtimestamp(request.created, UTC),
        "protocol": request.protocol,
        "request": body.json,
        "files": [*body.files],
        "answer": result.body if result else None,
    }


async def _erase(caller: Caller, settings: Settings) -> int:
    """Delete all of a person's, and look again: what is asked meanwhile is deleted too."""
    stores = _open(settings)
    await _in_audit("erased", "begun", caller, settings)
    deleted = await _delete_all(caller, stores)
    for _ in range(_MOST_LOOKS):
        if not any((left := await _delete_all(caller, stores)).values()):
            await asyncio.to_thread(_empty_logs, settings.data_dir)
            await _in_audit("erased", "done", caller, settings)
            changed, left = await _clear_audit(caller, settings)
            print(f"{caller.id}: deleted {_told(deleted)}. {left or 'Nothing is left.'}")
            return 0 if (changed or any(deleted.values())) and not left else 1
        deleted = {kind: deleted[kind] + count for kind, count in left.items()}
    print(f"{caller.id}: deleted {_told(deleted)}. More comes meanwhile: take the sign-in away, and run it again.")
    return 1


async def _delete_all(caller: Caller, stores: _Stores) -> dict[str, int]:
    """Delete what there is now; return how much of each kind. Runs come first: one that goes on adds to the others."""
    owner, history, target = caller.id or "", stores.history, stores.target
    runs = list[str]()
    if stores.runs:
        runs = [name async for name in _runs_of(stores.runs, owner)]
        for run_id in runs:
            with suppress(NotFound):
                await stores.runs.delete(run_id, owner)
        for name in [name async for name in stores.runs.store.names(direct_line.folder_of(owner))]:
            await stores.runs.store.delete(name)
    chats = [chat async for chat in _chats_of(history, owner)]
    for chat in chats:
        await stop_sharing(history, owner, chat.id)
        with suppress(NotFound):
            await history.delete(owner, chat.id)
        await stop_sharing(history, owner, chat.id)  # it may have been shared meanwhile
    answers = await stores.verdicts.answers_of(owner) if stores.verdicts else ()
    if stores.verdicts:
        await stores.verdicts.forget(owner, None)
    documents = [document async for document in _documents_of(target.documents, caller)]
    for document in documents:
        await changes.delete(document.name, document, target)
    return {"chats": len(chats), "answers": len(answers), "runs": len(runs), "documents": len(documents)}


async def _in_audit(act: str, status: str, caller: Caller, settings: Settings) -> None:
    if audit := open_audit(settings):
        await audit.write("act", caller.id or "", act=act, path="make person", status=status)


async def _clear_audit(caller: Caller, settings: Settings) -> tuple[int, str]:
    """Take a person's texts out of the audit record; return of how many lines, and a sentence if some are left."""
    try:
        changed, waiting = await without_texts(open_hours(settings), caller.id or "")
    except (OSError, AzureError, SwitchboardError) as error:
        return 0, f"The audit record keeps its texts: it cannot be changed ({type(error).__name__})."
    if changed:
        print(f"Of {changed:,} lines of the audit record the texts are gone.")
    if not waiting:
        return changed, ""
    hour = datetime.now(UTC).replace(minute=5) + timedelta(hours=1)
    return changed, (
        f"What {waiting:,} lines of the audit record have of this hour is left, since lines are still added to it: run "
        f"the same command again after {hour:%H:%M} UTC."
    )


def _empty_logs(folder: Path) -> None:
    """Write what SQLite's write-ahead logs have into their files: until then they keep what was deleted."""
    for path in (*folder.glob("*.sqlite"), *folder.glob("batches/*.sqlite")):
        with closing(apsw.Connection(str(path))) as db:
            db.set_busy_timeout(BUSY_MILLISECONDS)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _open(settings: Settings) -> _Stores:
    history, verdicts = open_history(settings)
    runs = build_runs(build_service(settings))[0] if settings.batches != "off" else None
    return _Stores(history, verdicts, open_target(settings), runs)


async def _chats_of(history: HistoryStore, owner: str) -> AsyncGenerator[Conversation]:
    page = Page()
    with suppress(NotFound):  # no chats are kept here
        while chats := await history.conversations(owner, page):
            for chat in chats:
                yield chat
            page = Page(after=ListPosition(chats[-1].last_updated, chats[-1].id))


async def _runs_of(runs: Runs, owner: str) -> AsyncGenerator[str]:
    """Find a person's runs: every run is looked at, which are those of a day."""
    async for name in runs.store.names():
        run_id, _, part = name.partition("/")
        if part == "state" and records.is_run_id(run_id):
            with suppress(InternalError):  # one that cannot be read is nobody's, and goes after a day
                state = await read_state(runs.store, run_id)
                if state and state.owner == records.digest(owner) and not state.deleted:
                    yield run_id


async def _documents_of(documents: DocumentReader, caller: Caller) -> AsyncGenerator[StoredDocument]:
    folder = folder_of(caller)
    async with aclosing(documents.find_all(folder)) as found:
        async for document in found:
            if not document.name.startswith(folder):
                break
            yield document


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


if __name__ == "__main__":
    sys.exit(main())
