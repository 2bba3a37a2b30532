"""What a caller may have in progress and keep: beyond it the caller is refused, and nobody else."""

import asyncio
from pathlib import Path

import pytest

from shared.chat_types import Caller
from shared.errors import RateLimited
from shared.parts import build_service
from shared.runs.folder_objects import FolderObjects
from shared.runs.in_process import InProcess
from shared.runs.records import RunRequest
from shared.runs.registry import NewRun, Runs
from shared.runs.running import Runner
from shared.settings import Settings
from shared.wire.request_body import Body


def new(caller: str, text: str = "What is paid?") -> NewRun:
    asked = RunRequest(protocol="openai", caller=Caller(), budget_key=caller, invocation_id="invocation-1")
    return NewRun(asked, Body({"messages": [{"role": "user", "content": text}]}), caller, key=f"{caller} {text[:20]}")


async def forever(_: str) -> None:
    await asyncio.Event().wait()


def instance(tmp_path: Path) -> Runs:
    limits = {"LIMIT_CALLER_RUNS": "2", "LIMIT_CALLER_KEPT_MEGABYTES": "1"}
    service = build_service(Settings.read({"DATA_DIR": str(tmp_path), **limits}))
    return Runs(Runner(FolderObjects(tmp_path / "runs"), service, {}), InProcess(forever))


@pytest.fixture
def instances(tmp_path: Path) -> list[Runs]:
    return [instance(tmp_path) for _ in range(3)]


@pytest.fixture
def runs(instances: list[Runs]) -> Runs:
    return instances[0]


async def test_all_instances_count_together_also_at_the_same_time(instances: list[Runs]) -> None:
    begun = await asyncio.gather(
        *(instances[number % 3].accept(new("a", str(number))) for number in range(9)), return_exceptions=True
    )
    assert sum(isinstance(one, tuple) for one in begun) == 2, begun
    assert sum(isinstance(one, RateLimited) for one in begun) == 7, begun


async def test_a_caller_has_so_many_runs_in_progress_and_more_when_one_has_ended(runs: Runs) -> None:
    first, _ = await runs.accept(new("a", "1"))
    await runs.accept(new("a", "2"))
    with pytest.raises(RateLimited, match="at most 2 kept answers"):
        await runs.accept(new("a", "3"))
    assert await runs.accept(new("a", "1")) == (first, None)  # as the key says, it is there already
    await runs.accept(new("b", "1"))
    await runs.stop(first, "a")
    await runs.accept(new("a", "3"))
    with pytest.raises(RateLimited):
        await runs.accept(new("a", "4"))


async def test_bytes_that_are_kept_of_a_caller_count_for_a_day(runs: Runs) -> None:
    large, _ = await runs.accept(new("a", "x" * 1_000_000))
    await runs.delete(large, "a")
    with pytest.raises(RateLimited, match="1 MB a day") as refused:
        await runs.accept(new("a"))
    assert 23 <= refused.value.retry_after / 3600 <= 26
    await runs.accept(new("b"))
