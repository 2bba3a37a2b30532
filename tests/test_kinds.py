"""`make unit` leaves out what starts a process, however deep, and nothing else."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest

from shared.reading.sandbox import Sandbox
from tests import kinds
from tests.clock import Clock
from tests.ingestion.memory_index import Workplace
from tests.local import running_host

HIDDEN = {"popen": subprocess.Popen}
"""Where the search, which goes by names, does not look."""


def directly() -> None:
    subprocess.run([sys.executable], check=True)


async def within_a_function() -> None:
    async def start() -> None:
        await asyncio.create_subprocess_exec(sys.executable)

    await start()


def through_another_file() -> None:
    running_host.refused_host(running_host.REPOSITORY)


class Starter:
    @property
    def process(self) -> None:
        directly()


def through_a_class() -> None:
    _ = Starter().process


SANDBOX = Sandbox(readers=1, memory=1, seconds=1)


async def with_a_sandbox_of_the_module() -> None:
    await SANDBOX.read(b"", ".txt")


def with_a_sandbox_of_a_class() -> None:
    Workplace(Path())


def never() -> None:
    Clock().forward(1)


@pytest.mark.parametrize("function", [directly, within_a_function, through_another_file, through_a_class])
def test_what_starts_a_process_is_found(function: Callable[[], object]) -> None:
    assert isinstance(function, FunctionType)
    assert kinds.reaches(function, kinds.STARTERS)


@pytest.mark.parametrize("function", [with_a_sandbox_of_the_module, with_a_sandbox_of_a_class])
def test_what_reads_files_is_found(function: Callable[[], object]) -> None:
    assert isinstance(function, FunctionType)
    assert kinds.reaches(function, kinds.READERS)


def test_what_starts_none_is_not_taken_for_it() -> None:
    assert isinstance(never, FunctionType)
    assert not kinds.reaches(never, kinds.STARTERS | kinds.READERS)


def test_a_test_that_starts_a_process_unseen_fails(request: pytest.FixtureRequest) -> None:
    assert kinds.is_unit(request.node)
    with pytest.raises(AssertionError, match="starts a process"):
        HIDDEN["popen"]([sys.executable, "-c", ""])
