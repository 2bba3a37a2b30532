"""`python -m tests.soak MINUTES`: runs the app under load, measures, kills and restarts it, and reports what is wrong.

The app runs on the local host, with the reference safety service (`RAI_MODE=enforce`), its history in SQLite, the
sample team, and a model that misbehaves as it is asked to.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.hostile.faulty_service import KEY, FaultyService
from tests.hostile.upstream_faults import SECRET
from tests.local.running_host import REPOSITORY, RunningHost
from tests.small_index import PASSAGES, write_index
from tests.soak.callers import MODEL, Caller, verify
from tests.soak.records import Record, Usage, growth, usage_of

CALLERS = 16
QUIET_SECONDS = 6.0
"""Time without load before a measurement: what is left of aborted requests ends meanwhile."""
_LEAST_KILLS = 2
SETTINGS = {"RAI_MODE": "enforce", "CHAT_DEADLINE_SECONDS": "5", "AGENTS_DEADLINE_SECONDS": "10"}


class Soak:
    """One run.

    Args:
        env: The app's settings.
        record: Where everything is noted.
    """

    def __init__(self, env: Mapping[str, str], record: Record) -> None:
        self._env = env
        self._record = record
        self.measured: list[Usage] = []
        """What the app held at rest, from early to late in its first life."""

    async def run(self, seconds: float) -> None:
        """Load the app for so many seconds, half of them in one life, the others in short lives that end by a kill."""
        ends = time.monotonic() + seconds
        async with self._life(is_killed=False) as host:
            for share in (0.1, 0.15, 0.3):
                await self._load(host, seconds * share)
                await asyncio.sleep(QUIET_SECONDS)
                if usage := usage_of(host.process.pid, sum(self._record.requests.values())):
                    self.measured.append(usage)
            if self.measured:  # from the second on: by then caches and the allocator have most of what they keep
                self._record.violations += growth(self.measured[-2], self.measured[-1])
            await self._verify(host)
        while True:
            async with self._life(is_killed=True) as host:
                await self._verify(host)
                if self._record.kills >= _LEAST_KILLS and time.monotonic() >= ends:
                    break
                await self._load(host, self._record.random.uniform(2, 8), kill=True)

    @asynccontextmanager
    async def _life(self, *, is_killed: bool) -> AsyncGenerator[RunningHost]:
        host = await asyncio.to_thread(RunningHost, REPOSITORY, self._env, ("--port", "0"))
        try:
            await asyncio.to_thread(host.wait_for, r"Switchboard is ready: (http://127\.0\.0\.1:\d+\S*)")
            yield host
            if not is_killed and host.process.poll() is not None:
                self._record.wrong(f"the app ended by itself with {host.process.poll()}")
        finally:
            await asyncio.to_thread(host.stop)
            self._record.search("the log", host.log())
            if "Traceback" in host.log():
                self._record.wrong("the log has a trace: " + host.log().partition("Traceback")[2][-500:])

    async def _load(self, host: RunningHost, seconds: float, *, kill: bool = False) -> None:
        stop, killed = asyncio.Event(), asyncio.Event()
        limit = aiohttp.ClientTimeout(total=90)
        async with aiohttp.ClientSession(timeout=limit, connector=aiohttp.TCPConnector(limit=CALLERS)) as http:
            callers = [Caller(host.url, http, self._record) for _ in range(CALLERS)]
            running = [asyncio.create_task(caller.run(stop, killed)) for caller in callers]
            await asyncio.wait(running, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            if kill:
                killed.set()
                host.process.kill()
                self._record.kills += 1
            stop.set()
            await asyncio.gather(*running)

    async def _verify(self, host: RunningHost) -> None:
        async with aiohttp.ClientSession() as http:
            await verify(host.url, http, self._record)


def report(record: Record, measured: list[Usage], seconds: float) -> str:
    """What was done and what is wrong, as text."""
    total = sum(record.requests.values())
    lines = [
        f"{seconds:.0f} s, {total:,} requests of {CALLERS} callers: "
        + ", ".join(f"{count:,} {kind}" for kind, count in record.requests.most_common()),
        "statuses: " + ", ".join(f"{status}: {count:,}" for status, count in sorted(record.statuses.items())),
        f"{record.aborts:,} aborts; {record.kills} kills, which cut {record.cut_by_kills:,} requests",
        f"{record.ledger.writes:,} acknowledged writes, all read again after each start",
        f"{record.checked / 1e6:,.0f} MB of answers and logs searched for what must not be there",
    ]
    lines += [
        f"at rest after {usage.requests:,} requests: {usage.descriptors} descriptors, {usage.memory / 1e6:,.0f} MB"
        for usage in measured
    ]
    if not measured:
        lines.append("descriptors and memory are not measured: this system has no /proc")
    wrong = list(dict.fromkeys(record.violations))
    lines.append(f"{len(wrong)} things are wrong:" if wrong else "nothing is wrong")
    return "\n".join([*lines, *(f"  {words}" for words in wrong[:40])])


async def soak(minutes: float, seed: int) -> bool:
    """Run, and print the report; return whether nothing is wrong."""
    record = Record(random.Random(seed), (SECRET, KEY))  # noqa: S311  (chance, not secrets)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="switchboard-soak-") as folder:
        data = Path(folder)
        await write_index(data, PASSAGES)
        (data / "content").mkdir()
        (data / "content" / "plan.md").write_text("The Standard plan pays 80 % of dental care.", encoding="utf-8")
        async with FaultyService(MODEL) as model:
            settings = SETTINGS | model.settings | {"DATA_DIR": folder, "OPENAI_EMBEDDING_MODEL": ""}
            run = Soak(settings, record)
            await run.run(minutes * 60)
    print(report(record, run.measured, time.monotonic() - begun), flush=True)
    return not record.violations


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=3.0, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000), help="of what callers do")
    arguments = parser.parse_args()
    print(f"soak of {arguments.minutes:g} minutes, seed {arguments.seed}", flush=True)
    return 0 if asyncio.run(soak(arguments.minutes, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
