"""Queue triggers on the local host, with the queues of Azurite."""

import asyncio
import signal
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import pytest_asyncio
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.rest import HttpRequest
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from local.invocation import Call, Function
from local.queue_trigger import LEASE_SECONDS, QueueTrigger
from local.settings_file import TriggerOptions
from tests.clock import Clock
from tests.kinds import one_in
from tests.local.running_host import RunningHost, host_beside, refused_host
from tests.local.small_apps import write_app
from tests.stand_ins.azurite import Azurite

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """
tries = 0
running = most = 0
three = asyncio.Barrier(3)


@app.queue_trigger(arg_name="message", queue_name=os.environ["QUEUE"], connection="STORE")
async def work(message: func.QueueMessage) -> None:
    global tries, running, most
    text = message.get_body().decode()
    tries += 1
    print(f"got {text!r} try {message.dequeue_count} of {message.id} inserted {message.insertion_time}", flush=True)
    if text == "sleep":
        await asyncio.sleep(600)
    if text == "beside others":
        running += 1
        most = max(most, running)
        await three.wait()
        await asyncio.sleep(0.2)  # a fourth would begin
        running -= 1
        print(f"done, at most {most} at once", flush=True)
    if text == "bad" or (text == "flaky" and message.dequeue_count < 3):
        raise RuntimeError("it is bad")
"""


@pytest_asyncio.fixture(loop_scope="module")
async def queue(azurite: Azurite) -> AsyncGenerator[QueueClient]:
    """A queue of the test's own, which is not made yet."""
    name = f"q{uuid4().hex}"
    async with QueueClient.from_connection_string(azurite.connection_string, name) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def poison(azurite: Azurite, queue: QueueClient) -> AsyncGenerator[QueueClient]:
    async with QueueClient.from_connection_string(azurite.connection_string, f"{queue.queue_name}-poison") as client:
        yield client


@asynccontextmanager
async def hosted(
    tmp_path: Path, azurite: Azurite, queue: QueueClient, options: Mapping[str, object] | None = None
) -> AsyncGenerator[RunningHost]:
    host: dict[str, object] = {"extensions": {"queues": {"maxDequeueCount": 3, **(options or {})}}}
    env = {"STORE": azurite.connection_string, "QUEUE": queue.queue_name}
    async with host_beside(write_app(tmp_path, APP, host=host), env) as running:
        yield running


async def logged(host: RunningHost, pattern: str) -> str:
    return await asyncio.to_thread(host.wait_for, pattern)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


async def emptied(queue: QueueClient, *, left: int = 0) -> None:
    """Wait until no more than so many messages are in a queue, visible or not."""
    async with asyncio.timeout(60):
        while True:
            if ((await queue.get_queue_properties()).approximate_message_count or 0) <= left:
                return
            await asyncio.sleep(0.05)


async def contents(queue: QueueClient) -> list[str]:
    return [message.content for message in await queue.peek_messages(32)]


async def test_a_message_is_an_invocation_and_is_gone_after_it(
    tmp_path: Path, azurite: Azurite, queue: QueueClient
) -> None:
    async with hosted(tmp_path, azurite, queue) as host:
        assert f"work  queueTrigger, queue {queue.queue_name}" in host.log()
        await queue.create_queue()  # the host waits for a queue that is not there
        sent = await queue.send_message(encoded("Grüße"))
        await logged(host, f"got 'Grüße' try 1 of {sent.id} inserted 20")
        await logged(host, r"work succeeded \d+ ms")
        await emptied(queue)


async def test_a_message_that_keeps_failing_goes_to_the_poison_queue_after_all_its_tries(
    tmp_path: Path, azurite: Azurite, queue: QueueClient, poison: QueueClient
) -> None:
    await queue.create_queue()
    await queue.send_message(encoded("bad"))
    await queue.send_message(encoded("flaky"))
    async with hosted(tmp_path, azurite, queue) as host:
        await logged(host, rf"went to queue {poison.queue_name}: it was tried 3 times")
        await logged(host, "got 'flaky' try 3[^$]*work succeeded")
        await emptied(queue)
    assert [f"'bad' try {number}" in host.log() for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert "RuntimeError: it is bad" in host.log()
    assert await contents(poison) == [encoded("bad")]


async def test_a_message_that_fails_waits_as_long_as_the_host_file_says(
    tmp_path: Path, azurite: Azurite, queue: QueueClient
) -> None:
    await queue.create_queue()
    await queue.send_message(encoded("bad"))
    async with hosted(tmp_path, azurite, queue, {"visibilityTimeout": "01:00:00"}) as host:
        await logged(host, "work failed")
        await queue.send_message(encoded("next"))
        await logged(host, r"'next' try 1[^$]*work succeeded")
        await emptied(queue, left=1)  # a host that is stopped before would give it back
    assert host.log().count("got 'bad'") == 1
    assert not await contents(queue)
    assert (await queue.get_queue_properties()).approximate_message_count


async def test_a_message_of_another_encoding_goes_to_the_poison_queue_at_once(
    tmp_path: Path, azurite: Azurite, queue: QueueClient, poison: QueueClient
) -> None:
    await queue.create_queue()
    await queue.send_message('{"plain": true}')
    async with hosted(tmp_path, azurite, queue) as host:
        await logged(host, "it is not encoded in base64")
    assert "got " not in host.log()
    assert await contents(poison) == ['{"plain": true}']


async def test_without_an_encoding_messages_are_passed_on_as_they_are(
    tmp_path: Path, azurite: Azurite, queue: QueueClient
) -> None:
    await queue.create_queue()
    await queue.send_message('{"plain": true}')
    async with hosted(tmp_path, azurite, queue, {"messageEncoding": "none"}) as host:
        await logged(host, """got '{"plain": true}' try 1""")


async def test_no_more_messages_are_worked_on_at_once_than_the_batch_size(
    tmp_path: Path, azurite: Azurite, queue: QueueClient
) -> None:
    await queue.create_queue()
    for _ in range(6):
        await queue.send_message(encoded("beside others"))
    async with hosted(tmp_path, azurite, queue, {"batchSize": 3}) as host:
        await logged(host, r"(done, at most \d at once[^$]*){6}")
    assert "at most 3 at once" in host.log()
    assert "at most 4 at once" not in host.log()


@pytest.mark.parametrize("number", one_in(2, [signal.SIGTERM, signal.SIGINT]))
async def test_a_host_that_is_stopped_gives_back_what_it_was_working_on(
    tmp_path: Path, azurite: Azurite, queue: QueueClient, number: signal.Signals
) -> None:
    await queue.create_queue()
    await queue.send_message(encoded("sleep"))
    async with hosted(tmp_path, azurite, queue) as host:
        await logged(host, "got 'sleep'")
        assert await asyncio.to_thread(host.stop, number) == 0
    assert [message.content async for message in queue.receive_messages()] == [encoded("sleep")]
    assert "work cancelled" in host.log()
    assert "Traceback" not in host.log()


async def test_storage_that_is_down_is_told_once_and_tried_until_it_is_back(tmp_path: Path) -> None:
    azurite = Azurite()
    client = QueueClient.from_connection_string(azurite.connection_string, "again")
    async with client as queue, hosted(tmp_path, azurite, queue) as host:
        await logged(host, "queue again cannot be polled")
        async with azurite:
            await queue.create_queue()
            await queue.send_message(encoded("at last"))
            await logged(host, r"got 'at last'[^$]*work succeeded")
            await emptied(queue)
            await asyncio.to_thread(host.stop)
    assert host.log().count("cannot be polled") == 1
    assert host.log().count("can be polled again") == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "A trigger needs STORE or STORE__queueServiceUri"),
        ({"STORE": "nonsense"}, "STORE is no connection string"),
    ],
)
async def test_a_trigger_without_its_account_ends_the_host_with_a_sentence(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    app = write_app(tmp_path, APP)
    code, log = await asyncio.to_thread(refused_host, app, {"QUEUE": "any", **settings})
    assert code == 1
    assert complaint in log
    assert "Traceback" not in log


async def test_a_message_stays_invisible_for_as_long_as_it_is_worked_on(azurite: Azurite, queue: QueueClient) -> None:
    """The trigger itself would take it again: it asks for messages all the time."""
    await queue.create_queue()
    await queue.send_message(encoded("long"))
    calls: list[Call] = []
    work: Future[bool] = Future()
    begun = asyncio.Event()
    renewals = asyncio.Queue[str]()
    clock = Clock()

    def invoke(call: Call) -> Future[bool]:
        calls.append(call)
        begun.set()
        return work

    def note(response: PipelineResponse[HttpRequest, object]) -> None:
        request = response.http_request
        if request.method == "PUT":
            renewals.put_nowait(parse_qs(urlsplit(request.url).query)["visibilitytimeout"][0])

    async with QueueClient.from_connection_string(
        azurite.connection_string, queue.queue_name, raw_response_hook=note
    ) as watched:
        function = Function("work", "1", {"type": "queueTrigger", "name": "message"})
        running = asyncio.create_task(QueueTrigger(function, watched, watched, invoke, TriggerOptions()).run())
        await begun.wait()
        clock.forward(LEASE_SECONDS / 2)
        assert await renewals.get() == str(LEASE_SECONDS)
        work.set_result(True)
        await emptied(queue)
        running.cancel()
        await asyncio.wait({running})
    assert [call.data for call in calls] == ["long"]


async def test_a_message_is_deleted_though_its_function_ends_while_it_is_made_invisible_for_longer(
    azurite: Azurite, queue: QueueClient, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.create_queue()
    await queue.send_message(encoded("long"))
    work: Future[bool] = Future()
    begun = asyncio.Event()
    clock = Clock()
    caplog.set_level("INFO", "local.invocation")

    def invoke(_: Call) -> Future[bool]:
        begun.set()
        return work

    class EndsWorkBeforeTheAnswer(QueueClient):
        async def update_message(self, *args: Any, **options: Any) -> QueueMessage:
            updated = await super().update_message(*args, **options)
            work.set_result(True)
            async with asyncio.timeout(60):
                while True:
                    if "work succeeded" in caplog.text:
                        return updated
                    await asyncio.sleep(0.01)

    async with EndsWorkBeforeTheAnswer.from_connection_string(azurite.connection_string, queue.queue_name) as watched:
        function = Function("work", "1", {"type": "queueTrigger", "name": "message"})
        running = asyncio.create_task(QueueTrigger(function, watched, watched, invoke, TriggerOptions()).run())
        await begun.wait()
        clock.forward(LEASE_SECONDS / 2)
        await emptied(queue)
        running.cancel()
        await asyncio.wait({running})


async def test_a_message_is_left_alone_that_its_function_has_changed(
    azurite: Azurite, queue: QueueClient, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.create_queue()
    await queue.send_message(encoded("held"))
    calls, work = asyncio.Queue[Call](), Future[bool]()
    caplog.set_level("INFO")

    def invoke(call: Call) -> Future[bool]:
        calls.put_nowait(call)
        return work

    client = QueueClient.from_connection_string(azurite.connection_string, queue.queue_name)
    async with client as watched:
        function = Function("work", "1", {"type": "queueTrigger", "name": "message"})
        running = asyncio.create_task(QueueTrigger(function, watched, watched, invoke, TriggerOptions()).run())
        of = (await calls.get()).metadata
        await queue.update_message(str(of["Id"]), str(of["PopReceipt"]), visibility_timeout=600)
        work.set_result(True)
        await queue.send_message(encoded("next"))
        await calls.get()
        running.cancel()
        await asyncio.wait({running})
    assert "work succeeded" in caplog.text
    assert "comes again" not in caplog.text
    assert (await queue.get_queue_properties()).approximate_message_count


async def test_a_poll_is_one_request(azurite: Azurite, queue: QueueClient) -> None:
    """A second one that fails would hide that the first one brought messages."""
    await queue.create_queue()
    await queue.send_message(encoded("first"))
    requests: list[str] = []
    requests_when_invoked = asyncio.get_running_loop().create_future()

    def note(request: PipelineRequest[HttpRequest]) -> None:
        requests.append(request.http_request.method)

    def invoke(_: Call) -> Future[bool]:
        requests_when_invoked.set_result(requests.count("GET"))
        future: Future[bool] = Future()
        future.set_result(True)
        return future

    async with QueueClient.from_connection_string(
        azurite.connection_string, queue.queue_name, raw_request_hook=note
    ) as watched:
        function = Function("work", "1", {"type": "queueTrigger", "name": "message"})
        running = asyncio.create_task(QueueTrigger(function, watched, watched, invoke, TriggerOptions()).run())
        assert await requests_when_invoked == 1
        await emptied(queue)
        running.cancel()
        await asyncio.wait({running})
