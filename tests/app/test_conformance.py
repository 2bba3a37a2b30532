"""The clients that people use read the running app: none of them finds anything wrong."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.app.guarded import BAD, guarded
from tests.app.test_answers import QUESTION
from tests.conformance.__main__ import run
from tests.conformance.report import failures
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the app."""

PINNED = {
    "search-demo-older": "ai-chat-2024-01-28",
    "chat-component": "rag-chat",
    "chatui-multi-agent": "semantic-kernel",
}
"""Clients that find their protocol on the bare routes, where their routes are pinned too."""


@pytest.mark.parametrize("bases", [{}, PINNED], ids=["as they come", "pinned"])
async def test_every_client_reads_every_route_that_it_uses(built_in: RunningHost, bases: dict[str, str]) -> None:
    cells = await run(built_in.url, QUESTION, bases)
    assert failures(cells) == ""
    assert [cell.route for cell in cells if not cell.checked and cell.route != "content"] == []


async def test_every_client_shows_a_refusal_and_goes_on_after_it(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with guarded(data_dir, openai, ERRORS_AS_MESSAGES="semantic-kernel") as app:
        cells = await run(app.host.url, QUESTION, {}, f"Where is the {BAD}?")
        await openai.caught_up()  # a refused turn may have asked the model
    assert failures(cells) == ""
    assert [cell.checked for cell in cells if cell.client.name == "chatui"] == [11]


async def run_kit(*arguments: str) -> tuple[int | None, str, str]:
    """Run the kit as a program; its exit code and what it printed."""
    command = (sys.executable, "-m", "tests.conformance", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, complaints = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, printed.decode(), complaints.decode()


async def test_the_kit_s_page_shows_the_table_as_it_prints_it(built_in: RunningHost) -> None:
    code, table, _ = await run_kit(built_in.url, "--question", QUESTION, "--markdown")
    assert code == 0
    assert table in (REPOSITORY / "tests/conformance/README.md").read_text(encoding="utf-8")


async def test_a_client_on_the_wrong_route_fails_and_says_why(built_in: RunningHost) -> None:
    code, printed, _ = await run_kit(built_in.url, "--question", QUESTION, "--bare")
    assert code == 1
    assert "ChatUI, chat, an answer: The client breaks: the answer is not an array. [reads]" in printed


async def test_a_backend_that_is_not_there_is_told_in_one_sentence() -> None:
    code, printed, complaint = await run_kit("http://127.0.0.1:1/api")
    assert (code, printed) == (2, "")
    assert complaint.startswith("Nobody answers at http://127.0.0.1:1/api: ")
