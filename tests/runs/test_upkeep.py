"""What is kept of batches and goes after a day, and a store that fails for moments."""

import asyncio
import time
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from shared.chat_types import Caller
from shared.errors import NotFound
from shared.parts import build_service
from shared.runs import NEW, New
from shared.runs.claim import Claim, claim_run
from shared.runs.folder_objects import FolderObjects
from shared.runs.in_process import InProcess
from shared.runs.records import MOST_RUNS, Result, RunRequest, State, decode
from shared.runs.registry import NewRun, Runs
from shared.runs.running import Runner
from shared.runs.upkeep import tidy
from shared.service import Service
from shared.settings import Settings
from shared.tools.calls import KeptCall
from shared.turns.accept import RouteOptions
from shared.wire.request_body import Body
from tests.runs.aging import age

OLD, YOUNG, ALIVE = "0" * 32, "1" * 32, "2" * 32


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return build_service(Settings.read({"DATA_DIR": str(tmp_path)}))


def state() -> bytes:
    return msgspec.json.encode(State("owner", time.time(), time.time()))


async def test_what_belongs_to_no_batch_is_deleted_after_a_day(tmp_path: Path) -> None:
    store = FolderObjects(tmp_path / "batches")
    names = [f"{OLD}/calls/a-0", f"{OLD}/answer", f"{YOUNG}/request", f"{ALIVE}/request"]
    for name in names:
        await store.write(name, b"kept", NEW)
    await store.write(f"{ALIVE}/state", state(), NEW)
    with closing(apsw.Connection(str(tmp_path / "batches" / "objects.sqlite"))) as db:
        old = (time.time() - 25 * 60 * 60, names[0], names[1], names[3])
        db.execute("UPDATE objects SET written = ? WHERE name IN (?, ?, ?)", old)
    await tidy(store)
    assert {name async for name in store.names()} == {names[2], names[3], f"{ALIVE}/state", f"going/{ALIVE}"}
    await age(store, 2 * 24 * 60 * 60, created=True)
    await tidy(store)
    assert {name async for name in store.names()} == {names[2]}


class DeletedMeanwhile(FolderObjects):
    """A store whose owner deletes a chat just before the state of a new run in it is written."""

    runs: Runs

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        if name.endswith("/state") and not msgspec.json.decode(data, type=State).deleted:
            await self.runs.delete_of("owner", "chat-1")
        return await super().write(name, data, etag)


async def test_a_run_that_is_accepted_while_its_chat_is_deleted_is_deleted_too(
    tmp_path: Path, service: Service
) -> None:
    store, started = DeletedMeanwhile(tmp_path / "runs"), list[str]()

    async def start(run_id: str) -> None:
        started.append(run_id)

    runs = store.runs = Runs(Runner(store, service, {}), InProcess(start))
    asked = RunRequest(protocol="openai", caller=Caller(), budget_key="owner", invocation_id="invocation-1")
    run_id, _ = await runs.accept(NewRun(asked, Body({"messages": []}), "owner", chat="chat-1"))
    with pytest.raises(NotFound):
        await runs.find(run_id, "owner")
    assert started == []
    assert [name async for name in store.names()] == [f"{run_id}/state"]


async def test_short_faults_of_the_store_do_not_end_a_batch_however_many_there_are(tmp_path: Path) -> None:
    store = FolderObjects(tmp_path)
    await store.write(f"{ALIVE}/state", state(), NEW)
    for _ in range(2 * MOST_RUNS):
        claim = await claim_run(ALIVE, store)
        assert isinstance(claim, Claim)
        assert claim.state.runs <= MOST_RUNS
        await claim.release()
    for _ in range(MOST_RUNS):  # processes that end while they run it are counted
        claim = await claim_run(ALIVE, store)
        assert isinstance(claim, Claim)
        await age(store)
    last = await claim_run(ALIVE, store)
    assert isinstance(last, Claim)
    assert last.state.runs > MOST_RUNS


@pytest.mark.parametrize(("earlier", "status"), [(MOST_RUNS - 1, 200), (MOST_RUNS, 500)])
async def test_a_batch_is_begun_as_often_as_it_may_be_and_then_given_up(
    tmp_path: Path, service: Service, earlier: int, status: int
) -> None:
    store = FolderObjects(tmp_path / "batches")
    asked = RunRequest(
        protocol="semantic-kernel",
        route=RouteOptions(team=True),
        caller=Caller(),
        budget_key="owner",
        invocation_id="invocation-1",
    )
    body = Body({"messages": [{"role": "user", "content": "What does the plan pay?"}]})
    await store.write(f"{OLD}/request", asked.encode(body), NEW)
    interrupted = State("owner", time.time(), 0, runner="dead", runs=earlier, started=time.time())
    await store.write(f"{OLD}/state", msgspec.json.encode(interrupted), NEW)
    asked_for = KeptCall("c", "Clerk", "crm", "drop", "{}", "open", expires=time.time() + 60)
    await store.write(f"{OLD}/tools/c", msgspec.json.encode(asked_for), NEW)
    await Runner(store, service, {}).run(OLD)
    assert await store.read(f"{OLD}/result")
    call = await store.read(f"{OLD}/tools/c")
    assert call
    assert decode(call.data, KeptCall).state == "abandoned"  # else somebody could agree to it, and it would never run
    found = await store.read(f"{OLD}/result")
    assert found
    result = msgspec.json.decode(found.data, type=Result)
    assert result.status == status
    assert (b"interrupted too often" in bytes(result.body)) == (earlier == MOST_RUNS)


async def test_runs_of_one_caller_that_hang_hold_up_neither_others_nor_what_was_decided() -> None:
    done, hang = set[str](), asyncio.Event()

    async def run(run_id: str) -> None:
        if run_id.startswith("hangs"):
            await hang.wait()
        done.add(run_id)

    engine, alice, bob = InProcess(run), State("alice", 1, 1), State("bob", 1, 1)
    for number in range(40):
        await engine.start(f"hangs {number}", alice)
    await asyncio.wait_for(engine.take("bob's", bob), 60)
    await asyncio.wait_for(engine.take("decided", msgspec.structs.replace(alice, decided=True)), 60)
    assert done == {"bob's", "decided"}
    hang.set()
    while engine.has("hangs 39"):  # noqa: ASYNC110 (the engine tells nobody)
        await asyncio.sleep(0)
    assert len(done) == 42


@pytest.mark.parametrize(
    ("seconds", "is_stale"),
    [(-1, False), (-20, True), (2 * 60 * 60, True)],
)
def test_a_dead_runner_is_found_though_the_clock_was_put_back(seconds: float, is_stale: bool) -> None:
    now = time.time()
    assert State("owner", now + seconds, now + seconds, runner="r").is_stale(now) is is_stale


@pytest.mark.parametrize("age", [0, 3600])
def test_a_run_whose_message_is_lost_is_handed_over_again_within_a_minute_however_old_it_is(age: float) -> None:
    state = State("owner", 0, age)
    assert [seconds for seconds in (0, 30, 60) if state.is_stale(age + seconds)] == [60]
