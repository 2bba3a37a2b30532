"""Timer triggers on the local host."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from local import HostError
from local.timer_trigger import next_time
from tests.kinds import one_in
from tests.local.running_host import RunningHost, host_beside, refused_host
from tests.local.small_apps import write_app

APP = """
@app.timer_trigger(arg_name="timer", schedule=os.environ["SCHEDULE"])
async def tick(timer: func.TimerRequest) -> None:
    print(f"tick, past due: {timer.past_due}", flush=True)
    if os.path.exists("slow"):
        await asyncio.sleep(2.5)
    if os.path.exists("bad"):
        raise RuntimeError("it is bad")
"""
EACH_SECOND = {"SCHEDULE": "* * * * * *"}


async def logged(host: RunningHost, pattern: str) -> str:
    return await asyncio.to_thread(host.wait_for, pattern)


async def test_a_function_runs_by_its_schedule_also_after_it_failed(tmp_path: Path) -> None:
    (tmp_path / "bad").touch()
    async with host_beside(write_app(tmp_path, APP), EACH_SECOND) as host:
        await logged(host, r"tick +timerTrigger, schedule \* \* \* \* \* \*")
        await logged(host, r"tick failed \d+ ms")
        (tmp_path / "bad").unlink()
        await logged(host, r"tick, past due: False[^$]*tick succeeded \d+ ms")


@pytest.mark.nightly
async def test_a_run_that_takes_longer_than_its_schedule_holds_up_the_next(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    async with host_beside(write_app(tmp_path, APP), EACH_SECOND) as host:
        await logged(host, r"(tick, past due[^$]*tick succeeded \d+ ms[^$]*){2}tick, past due")
    lines = [line for line in host.log().splitlines() if "tick, past due" in line or "tick succeeded" in line]
    assert not [pair for pair in pairwise(lines) if all("past due" in line for line in pair)]


async def test_of_two_hosts_one_has_the_timer_and_the_other_takes_it_over_when_that_is_killed(tmp_path: Path) -> None:
    app = write_app(tmp_path, APP)
    first = RunningHost(app, EACH_SECOND, ("--port", "0"))
    try:
        await logged(first, "tick succeeded")
        async with host_beside(app, EACH_SECOND) as second:
            await logged(second, "tick: not run here, another host has its timer")
            assert "tick succeeded" not in second.log()
            first.process.kill()
            await logged(second, "tick succeeded")
    finally:
        first.process.kill()
        await asyncio.to_thread(first.wait)


@pytest.mark.parametrize(
    "schedule", one_in(3, ["every day", "* * * *", "61 * * * * *", "0 0 0 31 2 *", "00:00:10", ""])
)
async def test_a_schedule_that_is_none_ends_the_host_with_a_sentence(tmp_path: Path, schedule: str) -> None:
    code, log = await asyncio.to_thread(refused_host, write_app(tmp_path, APP), {"SCHEDULE": schedule})
    assert code == 1
    assert f"'{schedule}' is no schedule of a timer" in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        # Source of the examples: Microsoft, 'Timer trigger for Azure Functions', 'NCRONTAB examples'.
        ("0 */5 * * * *", "2026-11-22T12:05:00"),
        ("0 0 * * * *", "2026-11-22T13:00:00"),
        ("0 0 */2 * * *", "2026-11-22T14:00:00"),
        ("0 0 9-17 * * *", "2026-11-22T13:00:00"),
        ("0 30 9 * * *", "2026-11-23T09:30:00"),
        ("0 30 9 * * 1-5", "2026-11-23T09:30:00"),
        ("0 30 9 * Jan Mon", "2027-01-04T09:30:00"),
        ("5,8,10 * * * * *", "2026-11-22T12:00:05"),
        ("30 2 * * *", "2026-11-23T02:30:00"),
        ("0 0 0 13 * Fri", "2027-08-13T00:00:00"),  # the 13th that is a Friday
    ],
)
def test_schedules_are_read_as_the_functions_host_reads_them(schedule: str, expected: str) -> None:
    noon = datetime(2026, 11, 22, 12, tzinfo=UTC)
    assert next_time(schedule, noon) == datetime.fromisoformat(f"{expected}+00:00")


def test_a_date_that_never_comes_is_no_schedule() -> None:
    with pytest.raises(HostError):
        next_time("0 0 0 30 2 *", datetime.now(UTC))
