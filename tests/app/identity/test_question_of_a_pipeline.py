"""`tools/ask.py`, with which a pipeline ends: it answers for the app only if a source does."""

import asyncio
import sys

import pytest

from tests.app.identity.conftest import FLOWS, QUESTION, REPORT
from tests.local.running_host import RunningHost
from tools.release import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def asked(url: str, question: str = QUESTION, key: str = "") -> tuple[int | None, str]:
    """The exit code of the program, and what it printed."""
    command = [str(ROOT / "tools" / "ask.py"), url, question, "--minutes", "0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={"SWITCHBOARD_KEY": key},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


async def test_it_prints_an_answer_and_its_sources(with_keys: RunningHost) -> None:
    code, printed = await asked(with_keys.url, key=FLOWS.made[0])
    assert (code, "Sources found: STAFF.md" in printed, "The app is healthy." in printed) == (0, True, True)


async def test_it_fails_without_a_key_and_without_a_source(with_keys: RunningHost) -> None:
    code, printed = await asked(with_keys.url)
    assert (code, "The answer is a 401: " in printed) == (1, True)
    code, printed = await asked(with_keys.url, key=REPORT.made[0])  # who sees none of the documents
    assert (code, "found no source" in printed) == (1, True)


async def test_it_says_why_an_app_is_not_healthy() -> None:
    code, printed = await asked("http://127.0.0.1:1/api")
    assert code == 1
    assert "The app is not healthy: " in printed
    assert "refused" in printed
