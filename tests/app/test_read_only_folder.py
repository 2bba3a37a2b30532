"""With a `DATA_DIR` that may only be read, questions are answered, and health says that nothing is kept."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shared.chat_types import Passage
from tests.app.conftest import PASSAGES
from tests.app.test_answers import body
from tests.local.running_host import REPOSITORY, RunningHost
from tests.small_index import write_index

pytestmark = pytest.mark.asyncio(loop_scope="session")

WITHOUT_RIGHTS = """
import ctypes, runpy
# Even root may not write then where the mode of a folder does not let it. The header has the version of the call.
ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
runpy.run_module("local", run_name="__main__", alter_sys=True)
"""
RESUMABLE: Any = {"context": {"overrides": {"resumable": True}}}
KEPT: tuple[tuple[str, Any], ...] = (
    ("/v1/responses", {"model": "switchboard", "input": "Are dental implants paid?"}),
    *((path, body("Are dental implants paid?") | RESUMABLE) for path in ("/chat/stream", "/multi-agent-chat/stream")),
)
"""Requests whose answers are kept where that is possible."""
ASKED = {"model": "switchboard", "messages": [{"role": "user", "content": "Are dental implants paid?"}]}


class HostWithoutRights(RunningHost):
    """The host by a user who is bound to the modes of files."""

    run = ("-c", WITHOUT_RIGHTS)


async def answered(http: aiohttp.ClientSession, host: RunningHost) -> str:
    async with http.post(f"{host.url}/v1/chat/completions", json=ASKED) as response:
        return (await response.json())["choices"][0]["message"]["content"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that may only be read, with an index."""
    asyncio.run(replace_index(tmp_path, PASSAGES))
    yield tmp_path
    tmp_path.chmod(0o755)


async def replace_index(folder: Path, passages: Sequence[Passage]) -> None:
    await asyncio.to_thread(folder.chmod, 0o755)
    await asyncio.to_thread((folder / "index.sqlite").unlink, missing_ok=True)
    await write_index(folder, passages)
    await asyncio.to_thread(folder.chmod, 0o555)


async def test_a_folder_that_may_only_be_read_is_searched_and_nothing_is_kept(
    folder: Path, http: aiohttp.ClientSession
) -> None:
    host = HostWithoutRights(REPOSITORY, {"DATA_DIR": str(folder)}, ("--port", "0"))
    try:
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        assert "[dental.md]" in await answered(http, host)
        async with http.get(f"{host.url}/health") as response:
            health = await response.json()
            assert (response.status, health["status"]) == (200, "degraded")
        assert health["parts"]["retrieval"]["ok"]
        assert health["parts"]["history"]["detail"] == (
            "Chats are not kept. The chat history cannot be opened. Check that DATA_DIR may be read and written."
        )
        for path, sent in KEPT:
            async with http.post(host.url + path, json=sent) as response:
                answer = await response.text()
                assert (response.status, "Location" in response.headers) == (200, False), answer
                assert "[dental.md]" in answer
                assert '"store":false' in answer if "responses" in path else "This answer is not kept." in answer
        async with http.put(f"{host.url}/documents/a.md", data=b"# A") as response:
            assert (response.status, "DATA_DIR" in await response.text()) == (503, True)
        await replace_index(folder, PASSAGES[:1])  # somebody else may write it
        assert "[dental.md]" not in await answered(http, host)
    finally:
        code = await asyncio.to_thread(host.stop)
    assert code == 0, host.log()
