"""The commands of README.md and docs/ that ask the app on a laptop, each carried out as it is written there.

What starts other programs, such as `make`, `az` or a client, is not: other tests have those that can run here.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from shared.chat_types import Passage
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import Key, taking
from tests.local.running_host import REPOSITORY, RunningHost
from tests.small_index import write_index

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADDRESS = "http://127.0.0.1:7071/api"
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*\n(?: {4}.*\n)*)", re.MULTILINE)
"""A command in a block that shows what comes of it as well."""
ELSEWHERE = re.compile(r"^([A-Z_]+=\S+ )*(az|claude|docker|make|npx|open-webui|\.venv/bin/python) ", re.MULTILINE)
TO_JQ = re.compile(r"[\s\\]*\| jq .*")
"""Shows a part of the answer, and is not installed everywhere."""
KNOWN = Passage("1", "The Standard plan covers eye exams, one in each year.", "plan.md", "plan.md", None)
KEY = Key("ada")
CURL = "fail\nshow-error\nsilent\nmax-time = 60\n"
"""Options for each curl: a status of an error ends the commands."""


def documented(*languages: str) -> Iterator[Any]:
    """The blocks in these languages that ask the app, as cases of a test."""
    for page in PAGES:
        for found in BLOCK.finditer(text := page.read_text(encoding="utf-8")):
            language, code = found.groups()
            if language in languages and ADDRESS in code and (language == "python" or "curl " in code):
                code = "".join(COMMAND.findall(code)) if language == "console" else code
                if not ELSEWHERE.search(code):
                    yield pytest.param(code, id=f"{page.name}:{text.count('\n', 0, found.start()) + 1}")


def is_installed(code: str) -> bool:
    """Whether all that a Python program imports is here; the other packages' own tests call the app with them."""
    return all(find_spec(name) for name in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """An app whose documents may change, with the safety service that a laptop has."""
    folder = tmp_path_factory.mktemp("documented")
    await write_index(folder, [KNOWN])
    async with hosted(folder, NO_VECTORS | {"RAI_MODE": "annotate"}) as host:
        yield host


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app_with_keys(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    """An app whose callers sign in, for commands that send a key."""
    async with hosted(tmp_path_factory.mktemp("keys"), NO_VECTORS | taking(KEY)) as host:
        yield host


async def run(app: RunningHost, folder: Path, program: str, code: str, *options: str) -> str:
    """Run a program; return what it printed, once it has ended well."""
    (folder / ".curlrc").write_text(CURL)
    (folder / "notes.md").write_text("The lift is on the left.")
    (folder / "letter.pdf").write_bytes(
        (REPOSITORY / "samples/documents/health/health-plans-handbook.pdf").read_bytes()
    )
    process = await asyncio.create_subprocess_exec(
        *(program, *options, "-c", code.replace(ADDRESS, app.url)),
        cwd=folder,
        env=os.environ | {"CURL_HOME": str(folder), "SWITCHBOARD_KEY": "any", "KEY": KEY.made[0]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


COMMANDS = [*documented("sh", "console")]


@pytest.mark.parametrize("code", [case for case in COMMANDS if "$KEY" not in case.values[0]])
async def test_a_command_succeeds(app: RunningHost, tmp_path: Path, code: str) -> None:
    await run(app, tmp_path, "bash", TO_JQ.sub("", code), "-euo", "pipefail")


@pytest.mark.parametrize("code", [case for case in COMMANDS if "$KEY" in case.values[0]])
async def test_a_command_of_a_caller_who_signs_in_succeeds(
    app_with_keys: RunningHost, tmp_path: Path, code: str
) -> None:
    await run(app_with_keys, tmp_path, "bash", TO_JQ.sub("", code), "-euo", "pipefail")


@pytest.mark.parametrize("code", [case for case in documented("python") if is_installed(case.values[0])])
async def test_a_program_prints_an_answer(app: RunningHost, tmp_path: Path, code: str) -> None:
    assert "Standard plan" in await run(app, tmp_path, sys.executable, code)
