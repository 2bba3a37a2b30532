"""What the list of runs says of one that nobody works on, that cannot be read, or whose answer the caller has got."""

import time
from pathlib import Path

import msgspec

from shared.chat_types import ChatRequest, ChatState, Message, Role
from shared.runs import NEW
from shared.runs.approvals import Decider, list_approvals, open_approvals
from shared.runs.consents import Consents, chat_name
from shared.runs.folder_objects import FolderObjects
from shared.runs.operators import list_runs
from shared.runs.records import STALE_SECONDS, Result, State, digest
from shared.tools.calls import KeptCall

ALONE, REFUSED = "0" * 44, "1" * 44


async def test_a_run_without_a_sign_of_life_is_stuck_and_a_refused_one_is_none_of_theirs(tmp_path: Path) -> None:
    store, now = FolderObjects(tmp_path / "batches"), time.time()
    state = State("owner", now - 3600, now - 2 * STALE_SECONDS, runner="gone", runs=1)
    refused = msgspec.json.encode(Result(400, msgspec.Raw(b"{}")))
    for run_id in (ALONE, REFUSED):
        await store.write(f"{run_id}/state", msgspec.json.encode(state), NEW)
        await store.write(f"going/{run_id}", b"", NEW)
    await store.write(f"{REFUSED}/result", refused, NEW)
    await store.write(f"{ALONE}/request", b"damaged", NEW)
    (found,), end = await list_runs(store, "", 10, "")
    assert (found["id"], found["state"], found["wire"], found["age"], end) == (ALONE, "stuck", "", 3600, None)
    assert await list_runs(store, "running", 10, "") == ([], None)
    assert await list_runs(store, "stuck", 10, ALONE) == ([], None)


async def test_a_call_that_cannot_be_read_keeps_no_other_from_the_lists(tmp_path: Path) -> None:
    store, now, owner = FolderObjects(tmp_path / "batches"), time.time(), digest("ada")
    for number, run_id in enumerate((ALONE, REFUSED)):
        name, approval = f"{run_id}/tools/c", str(number) * 32
        call = KeptCall("c", "Clerk", "crm", "drop", "{}", "open", approval_id=approval, code="AAAA", expires=now + 60)
        state = State(owner, now, now, waits=(name,), waits_until=now + 60)
        await store.write(f"{run_id}/state", msgspec.json.encode(state), NEW)
        await store.write(name, msgspec.json.encode(call) if number else b'["d","KeptCall",{}]', NEW)
        await open_approvals(store, run_id, state, {name: call}, asker="ada")
    listed, _ = await list_approvals(store, Decider(owner, "ada"))
    assert [one.run_id for one in listed] == [REFUSED]
    runs, _ = await list_runs(store, "waiting", 10, "")
    assert [one["id"] for one in runs] == [ALONE, REFUSED]
    stopped, started = list[str](), list[str]()

    async def stop(run_id: str, _owner: str | None) -> None:
        stopped.append(run_id)

    async def start(run_id: str, *, here: bool) -> None:
        started.append(f"{run_id} {here}")

    consents = Consents(store, start, stop, None)
    for run_id in (ALONE, REFUSED):
        await store.write(f"{chat_name('ada', 'chat')}0-{run_id}", b"", NEW)
    request = ChatRequest((Message(Role.USER, "Something else."),), chat=ChatState("chat"))
    assert await consents.withdraw("ada", request) == ["crm.drop"]
    assert {*stopped} == {ALONE, REFUSED}
    assert started == []
