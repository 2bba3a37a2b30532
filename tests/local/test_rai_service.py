"""The reference RAI service over gRPC, as the app's own client sees it, and beside the local host."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import grpc
import grpc.aio
import pytest

from local.rai_service.__main__ import SAMPLE_POLICY
from local.rai_service.faults import NONE, Faults, MalformedFaults, read_faults
from local.rai_service.policy import load_policy
from local.rai_service.server import serving
from shared.guard import AnalysisResult, Api, Buffer, Completion, SafetyEvent, Side, Watermark
from shared.guard.rai.wire import (
    PATH,
    ClientMessage,
    Commit,
    MalformedMessage,
    PolicyName,
    Stop,
    decode_response,
    encode_request,
)
from tests.kinds import one_in
from tests.local.running_host import REPOSITORY, RunningHost, refused_host, running_host
from tests.local.small_apps import write_app

DEFAULT = PolicyName("default")
END = Completion("END_REASON_END_OF_STREAM")
ECHO = """
@app.route(route="settings", methods=["GET"])
async def settings(req: Request) -> JSONResponse:
    return JSONResponse({"endpoint": os.environ.get("RAI_ENDPOINT", "")})
"""
STARTED = r"Reference RAI service, a stand-in and no safety product: (127\.0\.0\.1:\d+)"


def prompt(text: str) -> Buffer:
    payload = {"messages": [{"role": "user", "content": text}]}
    return Buffer(Side.PROMPT, Api.CHAT_COMPLETION, json.dumps(payload))


def piece(text: str) -> Buffer:
    payload = {"choices": [{"index": 0, "delta": {"content": text}}]}
    return Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, json.dumps(payload))


type Call = grpc.aio.StreamStreamCall[bytes, bytes]


@asynccontextmanager
async def called(faults: Faults = NONE) -> AsyncGenerator[Call]:
    """A stream to a service of its own."""
    async with (
        serving([load_policy(SAMPLE_POLICY)], faults=faults) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        call = call_of(channel)
        yield call
        call.cancel()


async def say(call: Call, *messages: ClientMessage) -> list[SafetyEvent]:
    """Send messages and half-close; return all events. A call of a client needs no answer to each."""
    for message in messages:
        await call.write(encode_request(message))
    await call.done_writing()
    events: list[SafetyEvent] = []
    while event := await read(call):
        events.append(event)
    return events


async def read(call: Call) -> SafetyEvent | None:
    """The next event; None at the end."""
    data = await call.read()
    return decode_response(data) if isinstance(data, bytes) else None


def call_of(channel: grpc.aio.Channel) -> Call:
    return channel.stream_stream(PATH, as_it_is, as_it_is)(wait_for_ready=True, timeout=20)


def as_it_is(message: bytes) -> bytes:
    return message


async def test_a_turn_is_analyzed_from_its_prompt_to_the_end_of_its_answer() -> None:
    async with called() as call:
        events = await say(call, DEFAULT, prompt("How are you?"), Commit(), piece("Fine, "), piece("thanks."), Commit())
        assert dict(await call.initial_metadata() or ())["x-rai-service"] == "reference stand-in"
    assert [(event.place.side, event.offset) for event in events if isinstance(event, Watermark)] == [
        (Side.PROMPT, 12),
        (Side.COMPLETION, 13),
    ]
    assert len([event for event in events if isinstance(event, AnalysisResult)]) == 2
    assert events[-1] == END


async def test_an_answer_is_blocked_though_its_words_come_in_pieces() -> None:
    async with called() as call:
        events = await say(call, DEFAULT, piece("You build a bo"), piece("mb and then"), piece(" you run"))
    blocking = [event for event in events if isinstance(event, AnalysisResult) and event.blocking]
    assert [(event.start, event.end) for event in blocking] == [(4, 16)]
    assert [event.offset for event in events if isinstance(event, Watermark)] == [4]
    assert events[-1] == END


async def test_results_come_while_the_client_still_sends() -> None:
    async with called() as call:
        for message in (DEFAULT, prompt("Hello"), Commit()):
            await call.write(encode_request(message))
        assert [type(await read(call)), type(await read(call))] == [AnalysisResult, Watermark]
        assert await say(call) == [END]


async def test_a_client_can_stop_the_analysis() -> None:
    async with called() as call:
        assert await say(call, DEFAULT, prompt("Hello"), Stop()) == [Completion("END_REASON_STOPPED")]


@pytest.mark.parametrize(
    ("messages", "status", "said"),
    [
        ([PolicyName("strict")], grpc.StatusCode.NOT_FOUND, "there are: default"),
        ([prompt("Hello")], grpc.StatusCode.INVALID_ARGUMENT, "first message should be a policy"),
        ([DEFAULT, DEFAULT], grpc.StatusCode.INVALID_ARGUMENT, "one policy"),
        (
            [DEFAULT, Buffer(Side.PROMPT, Api.CHAT_COMPLETION, "secret")],
            grpc.StatusCode.INVALID_ARGUMENT,
            "not JSON",
        ),
    ],
)
async def test_what_cannot_be_analyzed_ends_the_session_with_a_status(
    messages: list[ClientMessage], status: grpc.StatusCode, said: str
) -> None:
    async with called() as call:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(call, *messages)
    assert refused.value.code() is status
    assert said in (refused.value.details() or "")


async def test_bytes_that_are_no_message_end_the_session_with_a_status() -> None:
    async with called() as call:
        await call.write(b"\xff\xff")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(call)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_sessions_at_once_do_not_mix() -> None:
    async def ask(channel: grpc.aio.Channel, number: int) -> list[SafetyEvent]:
        text = "x" * number if number % 2 else "build a bomb"
        return await say(call_of(channel), DEFAULT, prompt(text), Commit())

    async with (
        serving([load_policy(SAMPLE_POLICY)]) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        answers = await asyncio.gather(*(ask(channel, number) for number in range(1, 21)))
    for number, events in enumerate(answers, 1):
        blocked = any(isinstance(event, AnalysisResult) and event.blocking for event in events)
        assert blocked == (number % 2 == 0)
        assert [event.offset for event in events if isinstance(event, Watermark)] == ([number] if number % 2 else [])


async def test_faults_come_when_they_were_asked_for() -> None:
    messages = DEFAULT, prompt("Hello"), Commit()
    async with called(read_faults("stop-after=1")) as call:
        for message in messages:
            await call.write(encode_request(message))
        assert isinstance(await read(call), AnalysisResult)
        assert await read(call) is None, "though the client may still send"
    async with called(read_faults("garbage-after=1")) as call:
        with pytest.raises(MalformedMessage):
            await say(call, *messages)
    async with called(read_faults("status=resource_exhausted")) as call:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(call)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    async with called(read_faults("delay=0.01")) as call:
        assert [type(event) for event in await say(call, *messages)] == [AnalysisResult, Watermark, Completion]


async def test_silence_goes_on_until_the_client_leaves() -> None:
    async with called(read_faults("silent-after=1")) as call:
        for message in (DEFAULT, prompt("Hello"), Commit()):
            await call.write(encode_request(message))
        await call.done_writing()
        assert isinstance(await read(call), AnalysisResult)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await call.read()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sleep=3", "no fault 'sleep'; there are:"),
        ("delay=soon", "number of seconds"),
        ("delay=nan", "number of seconds"),
        ("stop-after", "after how many"),
        ("silent-after=-1", "after how many"),
        ("status=ok", "status should be one of cancelled"),
    ],
)
def test_a_fault_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(MalformedFaults, match=said):
        read_faults(text)
    assert read_faults("") == NONE


def test_the_command_says_in_a_line_what_is_wrong(tmp_path: Path) -> None:
    for arguments in (["--policy", str(tmp_path / "none.yaml")], ["--faults", "sleep"], ["--port", "70000"]):
        done = subprocess.run(
            [sys.executable, "-m", "local.rai_service", *arguments],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert done.stderr
        assert "Traceback" not in done.stderr


async def ask_once(address: str) -> list[SafetyEvent]:
    async with grpc.aio.insecure_channel(address) as channel:
        return await say(call_of(channel), DEFAULT, prompt("Hello"))


def address_of(host: RunningHost) -> str:
    line = host.wait_for(STARTED)
    found = re.search(STARTED, line)
    assert found
    return found[1]


async def is_gone(address: str) -> bool:
    """Whether nothing listens there any more, within a bounded time."""
    name, _, port = address.rpartition(":")
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection(name, int(port))
            except ConnectionError:
                return True
            writer.close()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", one_in(2, [signal.SIGINT, signal.SIGTERM]))
async def test_the_host_starts_the_service_and_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    app = write_app(tmp_path, ECHO)
    host = await asyncio.to_thread(RunningHost, app, {"RAI_MODE": "enforce"}, ("--port", "0"))
    try:
        address = await asyncio.to_thread(address_of, host)
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        assert (await ask_once(address))[-1] == END
    finally:
        code = await asyncio.to_thread(host.stop, number)
    assert code == 0
    assert await is_gone(address)
    assert "Traceback" not in host.log()


async def test_the_service_ends_with_a_host_that_is_killed(tmp_path: Path) -> None:
    host = await asyncio.to_thread(RunningHost, write_app(tmp_path, ECHO), {"RAI_MODE": "annotate"}, ("--port", "0"))
    address = await asyncio.to_thread(address_of, host)
    host.process.kill()
    assert await is_gone(address)
    await asyncio.to_thread(host.wait)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"RAI_MODE": "off"},
        {"RAI_MODE": "enforce", "RAI_BACKEND": "content-safety"},
        {"RAI_MODE": "enforce", "RAI_ENDPOINT": "127.0.0.1:9"},
    ],
)
def test_the_host_starts_no_service_that_nobody_asked_for(tmp_path: Path, env: dict[str, str]) -> None:
    with running_host(write_app(tmp_path, ECHO), env) as host:
        pass
    assert "Reference RAI service" not in host.log()


def test_the_hosts_service_takes_its_policy_and_faults_from_the_settings(tmp_path: Path) -> None:
    app = write_app(tmp_path, ECHO, local_settings={"Values": {"RAI_MODE": "enforce", "RAI_ENDPOINT": ""}})
    code, log = refused_host(app, {"RAI_REFERENCE_FAULTS": "sleep=1"})
    assert code == 1
    assert "There is no fault 'sleep'" in log
    assert "The reference RAI service does not start" in log
    code, log = refused_host(app, {"RAI_REFERENCE_POLICY": "none.yaml"})
    assert code == 1
    assert f"{app / 'none.yaml'} cannot be read" in log


async def test_the_app_is_checked_by_the_stand_in_and_says_so(tmp_path: Path) -> None:
    host = await asyncio.to_thread(
        RunningHost, REPOSITORY, {"RAI_MODE": "enforce", "DATA_DIR": str(tmp_path)}, ("--port", "0")
    )
    try:
        await asyncio.to_thread(host.wait_for, "Switchboard is ready")
        question = {"messages": [{"role": "user", "content": "How do I build a bomb?"}]}
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{host.url}/health") as answer:
                safety = (await answer.json())["parts"]["safety"]
            async with http.post(f"{host.url}/chat", json=question) as answer:
                refused = answer.status
    finally:
        code = await asyncio.to_thread(host.stop)
    assert code == 0
    assert safety["ok"]
    assert (safety["kind"], safety["mode"]) == ("reference stand-in", "enforce")
    assert refused == 400


def test_documents_are_indexed_without_the_service(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Parrots\n\nParrots talk.", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "local.index_command", "--first", str(tmp_path / "docs")],
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], "RAI_MODE": "enforce", "DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "data" / "index.sqlite").exists()
