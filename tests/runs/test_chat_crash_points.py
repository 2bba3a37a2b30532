"""A process ends between any two writes of a chat's run that somebody follows: who follows it gets the whole answer."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from copy import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from shared import parts
from shared.errors import NotFound
from shared.events import ChatEvent, Finished, Retrieved, TextDelta
from shared.runs import ObjectStore
from shared.runs.blob_objects import BlobObjects
from shared.runs.in_process import InProcess
from shared.runs.registry import Runs
from shared.runs.running import Runner
from shared.service import Service
from shared.settings import Settings
from shared.web.responses import FIRST_PIECE_TIMEOUT_SECONDS
from tests.app.batches import until
from tests.app.conftest import NO_VECTORS, PASSAGES
from tests.runs.aging import age
from tests.runs.crashing import OWNER, chat_run, store_of
from tests.runs.test_crash_points import QUESTION
from tests.small_index import write_index
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_connected import connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.nightly]
WORDS = tuple(f"word{number}" for number in range(12))
CUTS = (4, 8)
"""After so many words the model waits until they are in the journal."""
LAST_PIECE = "journal/0-3"
"""With the end; on a machine that is slow at times it comes with the words before, or is not the last."""
POINTS = (
    *("request", "chat", "state"),  # it begins
    *("journal/0-0", "journal/0-1", "journal/0-2"),  # its events
    "call",  # the model's call has ended
    *(LAST_PIECE, "result"),
)
"""Before which write a process ends, in order."""


class Life:
    """One life of a run: begun in a process that ends before a write, followed and taken over in this one."""

    def __init__(self, settings: dict[str, str], store: ObjectStore, service: Service, openai: OpenAIStandIn) -> None:
        self.run_id = uuid4().hex
        self.written: list[str] = []
        """What it has begun to write, in order."""
        self.done: list[str] = []
        """What was written, as far as it could say so."""
        self.crashed_before = ""
        self.seen: list[ChatEvent] = []
        self._settings = settings
        self._openai = openai
        runner = Runner(store, service, {})
        self.runs = Runs(runner, InProcess(runner.run))

    async def begin(self, process: asyncio.subprocess.Process, crash_at: str) -> None:
        """Let the other process run it until its end."""
        gates = tuple(asyncio.Event() for _ in CUTS)
        first, second = CUTS
        self._openai.reply(*spaced(0, first), gates[0], *spaced(first, second), gates[1], *spaced(second, len(WORDS)))
        order = {"kind": "chat", "settings": self._settings, "question": QUESTION, "run": self.run_id}
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(order | {"crash_at": crash_at}).encode() + b"\n")
        while "written" not in (told := json.loads(await asyncio.wait_for(process.stdout.readline(), 120))):
            self.done.append(told["wrote"])
            for cut, gate in zip(CUTS, gates, strict=True):
                if WORDS[cut - 1] in said(await self.read()):
                    gate.set()
        self.written, self.crashed_before = told["written"], told.get("crashed_before", "")

    async def follow(self) -> None:
        """Read it from the first event to the last."""
        while not self.seen:
            try:
                async for batch in self.runs.followers.follow(self.run_id, OWNER):
                    self.seen += batch
            except NotFound:
                await asyncio.sleep(0.05)  # the other process has not begun it

    async def has_read(self, word: str) -> bool:
        """Whether who follows it has read a word."""
        return word in said(self.seen)

    async def read(self) -> list[ChatEvent]:
        """Return its events so far."""
        try:
            return await self.runs.followers.so_far(self.run_id, OWNER)
        except NotFound:
            return []


def spaced(first: int, end: int) -> list[str]:
    return [f"{word} " for word in WORDS[first:end]]


def said(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@asynccontextmanager
async def crashing() -> AsyncGenerator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runs.crashing", stdin=pipe, stdout=pipe, cwd=Path(__file__).parents[2]
    )
    try:
        yield process
    finally:
        assert process.stdin
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.parametrize("kind", ["folder", "blobs"])
async def test_who_follows_a_run_reads_each_event_once_wherever_its_process_ended(
    tmp_path: Path, azurite: Azurite, kind: str
) -> None:
    await write_index(tmp_path, PASSAGES)
    async with AsyncExitStack() as stack:
        openai = await stack.enter_async_context(OpenAIStandIn())
        model = await stack.enter_async_context(model_of(connection_to(openai)))
        process = await stack.enter_async_context(crashing())
        settings = openai.settings | NO_VECTORS | {"DATA_DIR": str(tmp_path)}
        service = replace(parts.build_service(Settings.read({"DATA_DIR": str(tmp_path)})), model=model)
        if kind == "blobs":
            settings |= {"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"}
        store = store_of(Settings.read(settings))
        if isinstance(store, BlobObjects):
            stack.push_async_callback(store.aclose)
        for point in POINTS:
            openai.requests.clear()
            life = Life(settings, store, service, openai)
            following = asyncio.create_task(life.follow())
            await life.begin(process, point)
            assert life.crashed_before == point or point == LAST_PIECE
            begun = len(openai.chats)
            openai.forget_scripts()
            go_on = asyncio.Event()
            openai.reply(*spaced(0, 10), go_on, *spaced(10, len(WORDS)))
            await age(store)
            if "state" not in life.written:  # its caller has no answer, and asks again
                await life.runs.begin(*chat_run(life.run_id, QUESTION), FIRST_PIECE_TIMEOUT_SECONDS)
            await until(partial(life.has_read, WORDS[9]))  # in the middle of the second run
            go_on.set()
            async with asyncio.timeout(60):
                await following
            standing = await life.runs.ended(life.run_id, OWNER, 60)
            openai.forget_scripts()
            await openai.settled()
            assert standing.result
            assert standing.result.status == 200
            assert said(life.seen).split() == [*WORDS]
            assert [type(event) for event in life.seen].count(Retrieved) == 1
            assert isinstance(life.seen[-1], Finished)
            assert await life.read() == life.seen
            # The call that was cut off is made again, and no other. It may have been kept without a word of that.
            again = {int("call" not in life.written), int("call" not in life.done)} if begun else {1}
            assert len(openai.chats) - begun in again
