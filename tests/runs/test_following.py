"""Those who follow a run: each event once and in order, here and elsewhere, however its runners end."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest

from shared.chat_types import Caller, ChatRequest, Message, RequestContext, Role, ToolCall
from shared.errors import InternalError, Stopped, Unavailable
from shared.events import (
    AgentMessage,
    AgentWork,
    ChatEvent,
    CompletionStarted,
    Failed,
    Finished,
    ReasoningDelta,
    Retrieved,
    TextDelta,
    ToolsCalled,
    Usage,
)
from shared.history import owner_of
from shared.parts import build_service
from shared.runs import NEW, Conflict, New, Stored
from shared.runs.begin import Arrival, begin
from shared.runs.claim import Claim, claim_run
from shared.runs.folder_objects import FolderObjects
from shared.runs.following import Followers, Standing
from shared.runs.in_process import InProcess
from shared.runs.journal import Journal, Live
from shared.runs.live import LiveTurn, resumed
from shared.runs.records import Result, RunRequest, State, digest
from shared.runs.registry import NewRun, Runs
from shared.runs.running import Runner
from shared.service import Service
from shared.settings import Settings
from shared.turns.accept import Asker, RouteOptions, accept
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS

RUN = "0" * 32
BEGIN: tuple[ChatEvent, ...] = (Retrieved((), ()), CompletionStarted("c", 1, "m"))
WHOLE: tuple[ChatEvent, ...] = (*BEGIN, TextDelta("80 %"), TextDelta(" is paid."), Finished("stop", ended=1))
OTHER: tuple[ChatEvent, ...] = (
    *BEGIN,
    TextDelta("It pays"),
    TextDelta(" 80 %."),
    TextDelta("."),
    Finished("stop", ended=1),
)
REQUEST = RunRequest(protocol="openai", caller=Caller(), budget_key="owner", invocation_id="invocation-1").encode(
    Body({})
)
ASKED = ChatRequest((Message(Role.USER, "What?"),))


class Counted(FolderObjects):
    """The folder, and what was read of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read_names: list[str] = []
        self._news = asyncio.Event()

    async def read(self, name: str) -> Stored | None:
        self.read_names.append(name)
        self._news.set()
        return await super().read(name)

    async def looked_for(self, end: str) -> None:
        """Wait until somebody has looked for an object whose name ends like this."""
        while not any(name.endswith(end) for name in self.read_names):
            self._news.clear()
            await self._news.wait()


@pytest.fixture
def store(tmp_path: Path) -> Counted:
    return Counted(tmp_path / "runs")


def context() -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + 60)


async def each(*events: ChatEvent | asyncio.Event | Exception) -> AsyncGenerator[ChatEvent]:
    for event in events:
        if isinstance(event, asyncio.Event):
            await event.wait()
        elif isinstance(event, Exception):
            raise event
        else:
            yield event


def followers(store: Counted, live: Live | None = None, *, journal: int = 0) -> Followers:
    """Those who follow the run, in the process of its runner or in another."""

    async def find(run_id: str, owner: str) -> Standing:
        assert owner == "owner"
        found = await store.read(f"{run_id}/result")
        state = State(digest(owner), time.time(), time.time(), journal=journal)
        return Standing(run_id, state, msgspec.json.decode(found.data, type=Result) if found else None)

    async def mark(run_id: str) -> None:
        assert run_id == RUN

    return Followers(store, Settings(), {RUN: live} if live else {}, find, mark)


def going(store: FolderObjects, events: AsyncGenerator[ChatEvent], journal: int = 0) -> Live:
    """Begin a turn as a runner does."""
    return Live(ASKED, LiveTurn(events, context()), Journal(store, RUN, journal))


async def keep(store: FolderObjects, live: Live) -> None:
    """Do what a runner does while the turn goes on, and at its end."""
    followed = asyncio.Event()
    followed.set()
    await live.journal.keep(live.turn, followed)
    await store.write(f"{RUN}/result", msgspec.json.encode(Result(200, msgspec.Raw(b"null"))), NEW)
    live.left.set()


async def read(of: Followers, number: int = 0) -> list[ChatEvent]:
    async with asyncio.timeout(30):
        return [event async for batch in of.follow(RUN, "owner", number) for event in batch]


async def test_readers_here_and_elsewhere_get_each_event_once_from_any_on(store: Counted) -> None:
    gate = asyncio.Event()
    live = going(store, each(*WHOLE[:3], gate, *WHOLE[3:]))
    reading = [
        asyncio.create_task(read(of, first)) for of in (followers(store, live), followers(store)) for first in range(4)
    ]
    keeping = asyncio.create_task(keep(store, live))
    await store.looked_for("0-1")  # a reader elsewhere waits for the second piece
    gate.set()
    await keeping
    read_by = await asyncio.gather(*reading)
    assert read_by == [[*WHOLE[first:]] for _ in range(2) for first in range(4)]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return build_service(Settings.read({"DATA_DIR": str(tmp_path)}))


class Held(FolderObjects):
    """A folder in which no result is stored before `go_on`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.go_on, self.ending = asyncio.Event(), asyncio.Event()

    async def write(self, name: str, data: bytes, etag: str | New) -> str:
        if name.endswith("/result"):
            self.ending.set()
            await self.go_on.wait()
        return await super().write(name, data, etag)


def processes(store: FolderObjects, service: Service) -> tuple[Runs, Runs]:
    """Return the runs of two processes on one store."""
    runners = Runner(store, service, {}), Runner(store, service, {})
    one, other = (Runs(runner, InProcess(runner.run)) for runner in runners)
    return one, other


async def test_who_has_read_the_end_finds_the_result_in_any_process(tmp_path: Path, service: Service) -> None:
    store = Held(tmp_path / "runs")
    one, other = processes(store, service)
    asked = RunRequest(protocol="openai", caller=Caller(), budget_key="owner", invocation_id="invocation-1")
    body = Body({"messages": [{"role": "user", "content": "What is paid?"}]})
    run_id, _ = await one.accept(NewRun(asked, body, "owner"))

    async def ended(reader: Runs, looker: Runs) -> Result | None:
        events = [event async for batch in reader.followers.follow(run_id, "owner") for event in batch]
        assert isinstance(events[-1], Finished)
        return (await looker.find(run_id, "owner")).result

    looking = [asyncio.create_task(ended(*pair)) for pair in ((one, one), (one, other), (other, one), (other, other))]
    await store.ending.wait()
    assert not (await asyncio.wait(looking, timeout=0.3, return_when=asyncio.FIRST_COMPLETED))[0]
    store.go_on.set()
    assert [found.status for found in await asyncio.gather(*looking) if found] == [200] * 4


async def test_a_run_that_nobody_waits_for_is_shown_as_it_began_and_then_as_it_ended(
    tmp_path: Path, service: Service
) -> None:
    one, _ = processes(FolderObjects(tmp_path / "runs"), service)

    async def runs() -> Runs:
        return one

    asker = Asker(caller=Caller(), budget_key="owner", invocation_id="invocation-1")
    body = Body({"messages": [{"role": "user", "content": "What is paid?"}]})
    accepted = accept(PROTOCOLS["openai"], body, asker, service.settings, RouteOptions())
    until = asyncio.get_running_loop().time() + 60
    arrival = Arrival(asker=asker, until=until, protocol="openai", is_told_later=True, is_waited_for=False)
    followed = await begin(service, runs, accepted, arrival, body)
    await one.ended(followed.run_id, owner_of(Caller()), 60)
    assert followed.report
    assert (await followed.report(0)).standing.result is None
    ended = (await followed.report(1)).standing.result
    assert ended
    assert ended.status == 200


async def test_a_runner_elsewhere_learns_with_its_next_heartbeat_that_its_run_is_followed_or_stopped(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.runs.claim.HEARTBEAT_SECONDS", 0.01)
    store = FolderObjects(tmp_path / "runs")
    _, other = processes(store, service)
    await store.write(f"{RUN}/state", msgspec.json.encode(State(digest("owner"), time.time(), time.time())), NEW)
    claim = await claim_run(RUN, store)
    assert isinstance(claim, Claim)
    stopped = asyncio.Event()
    async with asyncio.timeout(30):
        beating = asyncio.create_task(claim.keep(stopped.set, stopped.set))
        following = asyncio.create_task(anext(other.followers.follow(RUN, "owner")))
        await claim.followed.wait()
        await other.stop(RUN, "owner")
        await stopped.wait()
        await beating
    following.cancel()


async def test_a_token_costs_no_write_and_a_piece_reads_as_it_was_written(store: Counted) -> None:
    texts = [TextDelta(f"{number} ") for number in range(1_000)]
    events = (
        *BEGIN,
        AgentWork("A", "done", usage=Usage(7, 5), milliseconds=1.5),
        *(ReasoningDelta(text.text) for text in texts),
        *texts,
        AgentMessage("A", 0, "x"),
        ToolsCalled((ToolCall("c", "look", "{}"),)),
        Failed(Unavailable("No."), "i"),
    )
    await keep(store, going(store, each(*events)))
    assert [name async for name in store.names()] == [f"{RUN}/journal/0-0", f"{RUN}/result"]
    *kept, failed = await Journal(store, RUN, 0).read()
    assert kept == [*events[:-1]]
    assert isinstance(failed, Failed)
    assert (failed.error.code, failed.error.message) == ("unavailable", "No.")


async def test_all_who_follow_elsewhere_share_a_look_and_one_who_leaves_ends_it_for_nobody(store: Counted) -> None:
    of = followers(store)
    reading = [asyncio.create_task(anext(of.follow(RUN, "owner"))) for _ in range(50)]
    await asyncio.sleep(0)
    reading[0].cancel()
    await keep(store, going(store, each(*WHOLE)))
    left, *batches = await asyncio.gather(*reading, return_exceptions=True)
    assert isinstance(left, asyncio.CancelledError)
    assert {len(batch) for batch in cast("list[list[ChatEvent]]", batches)} <= {len(WHOLE) - 1, len(WHOLE)}
    assert len(store.read_names) < 50


async def test_of_two_runners_of_a_journal_one_writes_it(store: Counted) -> None:
    one, other = Journal(store, RUN, 0), Journal(store, RUN, 0)
    await one.append(WHOLE[:2])
    with pytest.raises(Conflict):
        await other.append(WHOLE[:3])
    await other.append(WHOLE[:2])  # as after a write whose answer was lost
    assert await Journal(store, RUN, 0).read() == [*WHOLE[:2]]


class Anew:
    """Counts how often an answer begins anew."""

    times = 0

    async def begin(self) -> None:
        self.times += 1


async def taken_over(known: Sequence[ChatEvent], *events: ChatEvent | Exception) -> tuple[list[ChatEvent], int]:
    """What the log of a run has in which another runner was cut off after `known`."""
    anew = Anew()
    turn = LiveTurn(resumed(each(*events), known, anew.begin), context())
    await turn.ended_within(30)
    return [*turn.log], anew.times


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
async def test_a_run_goes_on_where_it_was_cut_off_however_its_text_comes_now(cut: int) -> None:
    for pieces in (WHOLE[2:4], (TextDelta("80 % is paid."),), tuple(map(TextDelta, "80 % is paid."))):
        log, times = await taken_over(WHOLE[:cut], *BEGIN, *pieces, WHOLE[-1])
        assert (log[:cut], times) == ([*WHOLE[:cut]], 0)
        text = "".join(event.text for event in log if isinstance(event, TextDelta))
        assert (text, log[-1]) == ("80 % is paid.", WHOLE[-1])
        assert [type(event) for event in log].count(Retrieved) == 1


async def test_where_a_model_says_something_else_the_answer_begins_anew() -> None:
    for other in ((*BEGIN, TextDelta("90 %"), WHOLE[-1]), (*BEGIN, TextDelta("8"), WHOLE[-1])):
        assert await taken_over(WHOLE[:3], *other) == ([*other], 1)


@pytest.mark.parametrize("cut", range(1, 6))
async def test_reasoning_goes_on_as_text_does_and_other_reasoning_is_another_answer(cut: int) -> None:
    whole = (*BEGIN, ReasoningDelta("Is "), ReasoningDelta("it?"), TextDelta("It is."), WHOLE[-1])
    log, times = await taken_over(whole[:cut], *BEGIN, ReasoningDelta("Is it?"), *whole[4:])
    assert ("".join(event.text for event in log if isinstance(event, ReasoningDelta)), times) == ("Is it?", 0)
    assert [log[-2], log[-1]] == [*whole[4:]]
    other = (*BEGIN, ReasoningDelta("Was it?"), *whole[4:])
    assert await taken_over(whole[:cut], *other) == ([*other], int(cut > 2))


async def test_a_failure_comes_after_what_was_shown_before_it() -> None:
    log, _ = await taken_over(WHOLE[:3], BEGIN[0], Unavailable("The model is gone."))
    assert log[:3] == [*WHOLE[:3]]
    assert isinstance(log[3], Failed)


async def test_an_agents_message_that_was_shown_stays() -> None:
    first, second = AgentMessage("A", 0, "One"), AgentMessage("B", 1, "Two")
    known = (BEGIN[1], first)
    log, _ = await taken_over(known, CompletionStarted("d", 2, "m"), AgentMessage("A", 0, "Uno"), second, WHOLE[-1])
    assert log == [*known, second, WHOLE[-1]]


@pytest.mark.parametrize("here", [False, True])
async def test_a_reader_of_an_answer_that_begins_anew_is_told_to_read_it_again(store: Counted, here: bool) -> None:
    await store.write(f"{RUN}/request", REQUEST, NEW)
    await Journal(store, RUN, 0).append(WHOLE[:3])
    of = followers(store)
    following = of.follow(RUN, "owner")
    assert await anext(following) == [*WHOLE[:3]]
    live = going(store, each(*OTHER), 1)
    await keep(store, live)
    anew = followers(store, live if here else None, journal=1)
    of.find = anew.find
    of.lives.update(anew.lives)
    (failed,) = await anext(following)
    assert isinstance(failed, Failed)
    assert (failed.error.code, failed.invocation_id) == ("begun_anew", "invocation-1")
    assert await anext(following, None) is None
    assert await read(anew) == [*OTHER]


async def test_who_has_read_nothing_of_an_answer_yet_reads_the_one_that_begins_anew(store: Counted) -> None:
    of = followers(store)
    reading = asyncio.create_task(read(of))
    await store.looked_for("0-0")
    of.find = followers(store, journal=1).find
    await keep(store, going(store, each(*OTHER), 1))
    assert await reading == [*OTHER]


async def test_a_turn_that_is_stopped_ends_with_that_and_its_readers_leave_it_alone() -> None:
    turn = LiveTurn(each(*WHOLE[:3], asyncio.Event()), context())
    reader = turn.follow(0, None)
    assert await anext(reader) == [*WHOLE[:3]]
    await reader.aclose()
    turn.stop(Stopped())
    assert await turn.ended_within(30)
    assert isinstance(turn.log[-1], Failed)
    assert turn.has_ended


async def test_a_piece_that_is_damaged_is_an_error_and_holds_nobody_up(store: Counted) -> None:
    for damaged in (
        b'["t", [["d", "Fini',
        b'["t", ["words"]]',
        b'["t", [["d", "Usage", {"prompt_tokens": 1, "completion_tokens": 1}]]]',
    ):
        await store.write(f"{RUN}/journal/0-0", damaged, NEW)
        with pytest.raises(InternalError, match="cannot be read"):
            await read(followers(store))
        await store.delete(f"{RUN}/journal/0-0")
