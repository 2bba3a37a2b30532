"""The audit record: what was asked, decided and changed is in it, also after a kill, and nothing is done without it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from azure.storage.blob.aio import ContainerClient

from shared.audit.stores import CONTAINER
from tests.app.batches import place_of
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.identity.conftest import Key, taking
from tests.local.running_host import HOSTS, REPOSITORY, RunningHost
from tests.runs.acting import agents_file, crm
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

ADA = Key("ada", ("writers",))
QUESTION = "Does the Standard plan pay for dental care?"
SAID = [{"role": "user", "content": QUESTION}]
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "ai-chat": ("/ai-chat/chat/stream", {"messages": SAID}),
    "semantic-kernel": ("/semantic-kernel/chat", {"messages": SAID}),
    "openai": ("/v1/chat/completions", {"model": "switchboard", "messages": SAID, "stream": True}),
    "openai-responses": ("/v1/responses", {"model": "switchboard", "input": QUESTION}),
    "ai-sdk": (
        "/ai-sdk/chat",
        {"id": "c", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}]},
    ),
}


async def run(module: str, env: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """Run a command with the settings of the app; return its exit code and what it prints."""
    given = {**env, "PATH": ""}
    done = await asyncio.to_thread(HOSTS.run, module, *arguments, env=given, folder=REPOSITORY, seconds=120)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


async def record(env: Mapping[str, str], *arguments: str) -> list[dict[str, Any]]:
    """What the command prints of the record."""
    _, printed = await run("local.audit_command", env, *arguments)
    return [json.loads(line) for line in printed.splitlines()]


@asynccontextmanager
async def recorded(
    kind: str, folder: Path, azurite: Azurite, more: Mapping[str, str]
) -> AsyncGenerator[tuple[RunningHost, dict[str, str]]]:
    """An app with the record on, and its environment."""
    async with place_of(kind, folder, azurite) as place:
        env = NO_VECTORS | {"AUDIT": "on", "DATA_DIR": str(folder)} | dict(place.settings) | dict(more)
        async with hosted(folder, env) as host:
            yield host, env


async def send(http: aiohttp.ClientSession, method: str, url: str, sent: Any = None) -> tuple[int, str]:
    data = sent if isinstance(sent, bytes) else None if sent is None else json.dumps(sent).encode()
    async with http.request(method, url, headers=ADA.bearer, data=data) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("kind", ["folder", "queue"])
async def test_turns_of_each_wire_and_changes_are_recorded_and_their_texts_are_not(
    kind: str, tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession
) -> None:
    more = taking(ADA) | {"DOCUMENTS_WRITERS": "ada"}
    async with recorded(kind, tmp_path, azurite, more) as (host, env):
        for path, body in WAYS.values():
            assert (await send(http, "POST", host.url + path, body))[0] == 200
        assert (await send(http, "PUT", f"{host.url}/documents/new.txt", b"New."))[0] == 200
        assert (await send(http, "DELETE", f"{host.url}/documents/new.txt"))[0] == 204
        assert (await send(http, "DELETE", f"{host.url}/documents/new.txt"))[0] == 404
        as_lines = ADA.bearer | {"accept": "application/x-ndjson"}
        async with http.put(f"{host.url}/documents/cut.pdf", data=b"%PDF-1.7 cut", headers=as_lines) as steps:
            assert '"failed"' in await steps.text()
        assert (await send(http, "PUT", f"{host.url}/documents/mine/nettle.txt", b"Nettle ships in May."))[0] == 200
        said = {"messages": [{"role": "user", "content": "When does nettle ship?"}]}
        assert "mine/nettle.txt" in (await send(http, "POST", f"{host.url}/ai-chat/chat", said))[1]
        lines = await record(env, "--who", "key:ada")
        assert "key:ada" in host.log()
        assert "nettle" not in host.log().lower()
        assert QUESTION not in host.log()
    *lines, _, steps, _, own, _, answered = lines
    assert (steps["status"], steps["state"]) == (200, "failed")
    assert (own["path"], answered["documents"][0]) == ("/api/documents/mine/", "mine/")
    assert "nettle" not in json.dumps([own, answered])
    kinds = [line["audit"] for line in lines]
    assert kinds == ["asked", "answered"] * len(WAYS) + ["act"] * 6
    assert [line["wire"] for line in lines[:10:2]] == [line["wire"] for line in lines[1:10:2]] == list(WAYS)
    answered = lines[1]
    assert answered | {"end": "stop", "question_characters": None} == answered | {
        "end": "stop",
        "question_characters": None,
    }
    assert (answered["documents"][0], answered["end"]) == ("plan.pdf#page=3", "stop")
    assert answered["answer_characters"] > 0
    assert lines[0]["question_characters"] == len(QUESTION)
    assert [(line["act"], line["status"]) for line in lines[-6:]] == [
        (act, status)
        for act, end in (("put_document", 200), ("delete_document", 204), ("delete_document", 404))
        for status in ("begun", end)
    ]
    assert not [line for line in lines if "question" in line or "answer" in line]
    assert await record(env, "--since", "2999-01-01") == []


async def test_a_call_its_consent_and_its_texts_are_recorded(
    tmp_path: Path, azurite: Azurite, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async with crm() as server:
        file = await asyncio.to_thread(agents_file, tmp_path, server.url)
        more = taking(ADA) | openai.settings | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk", "AUDIT": "texts"}
        async with recorded("folder", tmp_path, azurite, more) as (host, env):
            openai.call_tool("crm_drop", {"name": "x"})
            await send(http, "POST", f"{host.url}/ai-chat/chat", {"messages": SAID})
            (asked,) = json.loads((await send(http, "GET", f"{host.url}/approvals"))[1])["approvals"]
            openai.reply("Gone.")
            said = [*SAID, {"role": "user", "content": f"approve {asked['code']}"}]
            assert (await send(http, "POST", f"{host.url}/ai-chat/chat", {"messages": said}))[0] == 200
            lines = await record(env)
    assert server.dropped == ["x"]
    (decided,) = [line for line in lines if line["audit"] == "decided"]
    assert (decided["who"], decided["approval"], decided["approved"]) == ("key:ada", asked["id"], True)
    (done,) = [line for line in lines if line["audit"] == "tool" and line["status"] == "done"]
    arguments = sha256(b'{"name":"x"}').hexdigest()
    assert (done["tool"], done["approval"], done["arguments_sha256"]) == ("drop", asked["id"], arguments)
    assert lines[0]["question"] == QUESTION
    assert lines[-1]["answer"].endswith("Gone.")


async def test_who_asked_is_in_the_record_though_the_host_is_killed_in_the_midst_of_the_answer(
    tmp_path: Path, azurite: Azurite, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    env = taking(ADA) | NO_VECTORS | openai.settings | {"AUDIT": "on", "DATA_DIR": str(tmp_path)}
    async with place_of("folder", tmp_path, azurite):
        host, release = RunningHost(REPOSITORY, env, ("--port", "0")), asyncio.Event()
        try:
            await asyncio.to_thread(host.wait_for, "Switchboard is ready")
            openai.reply("One ", release, "two.")
            async with http.post(
                f"{host.url}/v1/chat/completions", json=WAYS["openai"][1], headers=ADA.bearer
            ) as response:
                async for line in response.content:
                    if b"One" in line:
                        break
                host.process.kill()
        finally:
            host.process.kill()
            await asyncio.to_thread(host.wait)
            release.set()
        assert [(line["audit"], line["who"]) for line in await record(env)] == [("asked", "key:ada")]


async def test_who_sent_a_document_is_in_the_record_though_the_host_is_killed_before_it_answers(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession
) -> None:
    env = taking(ADA) | NO_VECTORS | {"AUDIT": "on", "DATA_DIR": str(tmp_path), "DOCUMENTS_WRITERS": "ada"}

    async def until_recorded(host: RunningHost) -> AsyncGenerator[bytes]:
        yield b"The first half."
        while not [*(tmp_path / "audit").rglob("*.jsonl")]:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.05)
        host.process.kill()
        yield b"The second half."

    async with place_of("folder", tmp_path, azurite):
        host = RunningHost(REPOSITORY, env, ("--port", "0"))
        try:
            await asyncio.to_thread(host.wait_for, "Switchboard is ready")
            with pytest.raises(aiohttp.ClientError):
                async with asyncio.timeout(60):
                    await http.put(f"{host.url}/documents/a.md", data=until_recorded(host), headers=ADA.bearer)
        finally:
            host.process.kill()
            await asyncio.to_thread(host.wait)
        (line,) = await record(env)
    assert (line["audit"], line["who"], line["act"], line["status"]) == ("act", "key:ada", "put_document", "begun")
    assert line["path"].endswith("/documents/a.md")


async def test_who_is_erased_leaves_no_text_in_the_record_and_of_this_hour_the_command_says_when_it_can_go(
    tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession
) -> None:
    data, erase = tmp_path / "data", partial(run, "local.person_command")
    async with recorded("folder", data, azurite, taking(ADA) | {"AUDIT": "texts"}) as (host, env):
        assert (await send(http, "PUT", f"{host.url}/documents/mine/nettle.txt", b"Nettle ships in May."))[0] == 200
        said = {"messages": [{"role": "user", "content": "When does nettle ship?"}]}
        assert "May" in (await send(http, "POST", f"{host.url}/ai-chat/chat", said))[1]
    code, printed = await erase(env, "ada", "--erase")
    assert (code, "is left, since" in printed, "Nothing is left" in printed) == (1, True, False), printed
    files = [*data.glob("audit/*/*/*/*.jsonl")]
    (data / "audit/2020/01/01").mkdir(parents=True)
    for number, path in enumerate(files):  # as if it were an hour later
        path.rename(data / f"audit/2020/01/01/00-{number}.jsonl")
    code, printed = await erase(env, "ada", "--erase")
    assert (code, "Nothing is left" in printed) == (0, True), printed
    lines = await record(env)
    assert [line["act"] for line in lines if line["audit"] == "act"] == ["put_document"] * 2 + ["erased"] * 4
    assert "nettle" not in json.dumps(lines).lower()
    assert (await erase(env, "ada", "--erase"))[0] == 1


@pytest.mark.parametrize(("on_error", "status"), [("block", 503), ("allow", 200)])
async def test_what_cannot_be_recorded_is_refused_unless_the_setting_allows_it(
    on_error: str, status: int, tmp_path: Path, azurite: Azurite, http: aiohttp.ClientSession
) -> None:
    await asyncio.to_thread((tmp_path / "audit").write_text, "a file where the folder should be")
    more = taking(ADA) | {"AUDIT_ON_ERROR": on_error, "DOCUMENTS_WRITERS": "ada"}
    async with recorded("folder", tmp_path, azurite, more) as (host, _):
        answered = await send(http, "POST", f"{host.url}/ai-chat/chat", {"messages": SAID})
        assert (answered[0], "audit record cannot be written" in answered[1]) == (status, status == 503)
        assert "a line of the audit record is not written" in host.log()
        assert (await send(http, "PUT", f"{host.url}/documents/a.md", b"Text."))[0] == status
        _, listed = await send(http, "GET", f"{host.url}/documents")
        assert [one["name"] for one in json.loads(listed)["documents"]] == (["a.md"] if status == 200 else [])


async def test_the_blobs_can_only_be_added_to(azurite: Azurite) -> None:
    async with ContainerClient.from_connection_string(azurite.connection_string, CONTAINER) as container:
        kinds = {blob.blob_type async for blob in container.list_blobs()}
    assert {str(kind) for kind in kinds} <= {"BlobType.APPENDBLOB"}
