"""Direct Line for Web Chat without a bot service: a client that polls, signed in as on all routes."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from hashlib import sha256
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, PASSAGES
from tests.local.running_host import RunningHost, host_beside
from tests.runs.acting import Crm, agents_file, crm
from tests.small_index import write_index
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = {"ada": "key-of-ada", "ben": "key-of-ben"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def host(
    server: Crm, openai: OpenAIStandIn, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[RunningHost]:
    folder = tmp_path_factory.mktemp("line")
    file = await asyncio.to_thread(agents_file, folder, server.url)
    await write_index(folder, PASSAGES)
    entries = ",".join(f"{name}:{sha256(key.encode()).hexdigest()}" for name, key in KEYS.items())
    env = openai.settings | NO_VECTORS | {"AUTH_MODE": "api-key", "API_KEYS": entries, "DATA_DIR": str(folder)}
    async with host_beside(env=env | {"AGENTS_FILE": str(file), "CHAT_AGENT": "Clerk"}) as host:
        yield host


class Line:
    """A client that polls."""

    def __init__(self, host: RunningHost, http: aiohttp.ClientSession, who: str = "ada") -> None:
        self._url = f"{host.url}/directline"
        self._http = http
        self.headers = {"Authorization": f"Bearer {KEYS[who]}"}
        self.id = self.watermark = ""
        self.seen: list[dict[str, Any]] = []

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        async with self._http.request(method, f"{self._url}/{path}", json=body, headers=self.headers) as response:
            return response.status, await response.json()

    async def begin(self) -> None:
        status, begun = await self.send("POST", "conversations", {"locale": "de-DE"})
        assert status == 201
        assert begun["token"] == self.headers["Authorization"].partition(" ")[2]
        self.id = begun["conversationId"]

    async def say(self, **activity: Any) -> str:
        whole = {"type": "message", "from": {"id": "user"}, "locale": "en-US", **activity}
        status, said = await self.send("POST", f"conversations/{self.id}/activities", whole)
        assert status == 200, said
        return said["id"]

    async def poll(self) -> tuple[int, Any]:
        return await self.send("GET", f"conversations/{self.id}/activities?watermark={self.watermark}")

    async def until(self, is_so: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Poll until an activity is so; return it."""
        async with asyncio.timeout(60):
            while not (found := [one for one in self.seen if is_so(one)]):
                status, polled = await self.poll()
                assert status == 200
                self.watermark = polled["watermark"]
                self.seen += polled["activities"]
                await asyncio.sleep(0.05)
        return found[-1]


def is_final(activity: dict[str, Any]) -> bool:
    return activity["type"] == "message" and activity["from"]["id"] == "bot"


async def test_a_client_that_polls_sees_its_conversation_and_nobody_else_does(
    host: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    line = Line(host, http)
    assert (await line.send("POST", "tokens/generate"))[1]["token"] == KEYS["ada"]
    await line.begin()
    hello = await line.until(is_final)
    assert "/new" in hello["text"]
    go_on = asyncio.Event()
    openai.reply("It pays", go_on, " all.")
    asked = await line.say(text="What does it pay?", channelData={"clientActivityID": "c-1"})
    echo = await line.until(lambda one: one["id"] == asked)
    assert (echo["text"], echo["channelData"]) == ("What does it pay?", {"clientActivityID": "c-1"})
    growing = await line.until(lambda one: one.get("text") == "It pays")
    assert (growing["type"], growing["channelData"]["streamType"]) == ("typing", "streaming")
    go_on.set()
    answer = await line.until(lambda one: one.get("text") == "It pays all.")
    first = next(one for one in line.seen if one["type"] == "typing")
    assert (answer["channelData"]["streamType"], answer["channelData"]["streamId"]) == ("final", first["id"])
    assert answer["replyToId"] == asked
    assert len({one["id"] for one in line.seen}) == len(line.seen)

    thumb = answer["entities"][1]["potentialAction"][0]
    await line.say(type="event", name="webchat:activity-status/feedback", entities=[thumb])
    openai.reply("Two years.")
    await line.say(text="And then?")
    await line.until(lambda one: one.get("text") == "Two years.")
    assert "What does it pay?" in str(openai.requests[-1].body)

    other = Line(host, http, "ben")
    other.id = line.id
    assert (await other.poll())[0] == 404
    other.headers = {}
    assert (await other.poll())[0] == 401
    line.watermark = "x"
    assert (await line.poll())[0] == 400


async def test_consent_is_a_button_whose_card_is_updated(
    host: RunningHost, server: Crm, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    line = Line(host, http)
    await line.begin()
    openai.call_tool("crm_drop", {"name": "x"})
    await line.say(text="Drop it.")
    card = await line.until(lambda one: one.get("attachments"))
    actions = card["attachments"][0]["content"]["actions"]
    assert ([one["type"] for one in actions], server.dropped) == (["Action.Submit"] * 2, [])
    openai.reply("x is dropped.")
    await line.say(value=actions[0]["data"], channelData={"postBack": True})
    await line.until(lambda one: one.get("text", "").endswith("x is dropped.") and is_final(one))
    shown = [one for one in line.seen if one["id"] == card["id"]]
    assert ("actions" in shown[-1]["attachments"][0]["content"], server.dropped) == (False, ["x"])
