"""A team whose agents act, with a server of the official SDK that counts what really happens."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import replace
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mcp.server.mcpserver import MCPServer
from pydantic import Field

from shared import parts
from shared.chat_types import Caller, ChatRequest, Decision, Json
from shared.events import ChatEvent, ConsentAsked, Finished, OpenCall, TextDelta
from shared.history import HistoryStore, owner_of
from shared.parts import build_runs
from shared.runs import ObjectStore
from shared.runs.begin import Arrival, begin, decided
from shared.runs.records import RunRequest, State, decode
from shared.runs.registry import NewRun, Runs
from shared.service import Service
from shared.settings import Settings
from shared.tools.calls import KeptCall
from shared.tools.tool_servers import ToolServers
from shared.turns.accept import Asker, RouteOptions, accept
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS
from tests.stand_ins.openai_connected import connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.tools.serving import mcp_server

ANONYMOUS = Caller()


@dataclass(slots=True)
class Crm:
    """What the server was really asked to do."""

    url: str = ""
    looked: list[int] = field(default_factory=list[int])
    dropped: list[str] = field(default_factory=list[str])
    says: str = ""
    """What it says of each order; empty: what is so."""
    before: Callable[[], None] | None = None
    """Done before an order is dropped."""
    looking: Callable[[], Awaitable[object]] | None = None
    """Awaited before an order is looked up."""


@asynccontextmanager
async def crm(told: str = "Drop an order.") -> AsyncGenerator[Crm]:
    """Serve one tool that reads, and one that needs consent and is told of in these words."""
    done, server = Crm(), MCPServer("crm")

    @server.tool()
    async def look(number: int, note: str = "") -> str:
        """Look up an order."""
        del note
        if done.looking:
            await done.looking()
        done.looked.append(number)
        return done.says or f"order {number} is open"

    @server.tool(description=told)
    def drop(name: Annotated[str, Field(max_length=50)]) -> str:
        if done.before:
            done.before()
        done.dropped.append(name)
        return f"{name} is dropped"

    async with mcp_server(server) as url:
        done.url = url
        yield done


def agents_file(folder: Path, url: str, *, pattern: str = "sequential", agents: str = "", auth: str = "none") -> Path:
    file = folder / "agents.yaml"
    file.write_text(f"""\
team: {{pattern: {pattern}}}
tool_servers:
  - name: crm
    url: {url}
    auth: {auth}
    tools:
      look: {{approval: never}}
      drop: {{}}
agents:
{agents or "  - {name: Clerk, instructions: Be Clerk., tools: [search, crm.*]}"}
""")
    return file


@dataclass(slots=True)
class Desk:
    """The runs of an app, as its triggers use them."""

    runs: Runs
    settings: Settings
    history: HistoryStore
    service: Service

    async def ask(
        self,
        question: str,
        caller: Caller = ANONYMOUS,
        *,
        team: bool = False,
        chat: str = "c1",
        protocol: str = "ag-ui",
    ) -> tuple[str, list[ChatEvent]]:
        """Ask, and read the answer to its end; return the run and the events."""
        message: Json = {"id": "1", "role": "user", "content": question}
        body = Body({"threadId": chat, "runId": "", "messages": [message], "sessionState": chat})
        asked = RunRequest(
            protocol=protocol,
            caller=caller,
            budget_key="b",
            invocation_id="i-1",
            route=RouteOptions(streams=True, team=team),
        )
        new = NewRun(asked, body, owner_of(caller), chat=chat)
        run_id, _ = await self.runs.begin(new, asked.accepted(body, self.settings), None)
        return run_id, await self.read(run_id, caller)

    async def post(self, protocol: str, sent: dict[str, Any], *, team: bool = False, seconds: float = 60) -> Any:
        """Ask in a protocol, and return the answer's JSON."""
        wire, body = PROTOCOLS[protocol], Body(sent)
        options = RouteOptions(team=team)
        asker = Asker(caller=ANONYMOUS, budget_key="b", invocation_id="i-1")
        accepted = accept(wire, body, asker, self.settings, options)
        until = asyncio.get_running_loop().time() + seconds
        arrival = Arrival(asker=asker, until=until, options=options, protocol=protocol)
        followed = await begin(self.service, self._get_runs, accepted, arrival, body)
        answer = await followed.answer(filter_ends=wire.filter_ends)
        encode = wire.team_answer if team else wire.answer
        assert encode
        return json.loads(json.dumps(encode(followed.request, answer)))

    async def _get_runs(self) -> Runs:
        return self.runs

    async def read(self, run_id: str, caller: Caller = ANONYMOUS, number: int = 0) -> list[ChatEvent]:
        batches = self.runs.followers.follow(run_id, owner_of(caller), number)
        return [event async for batch in batches for event in batch]

    async def decide(self, *decisions: Decision, caller: Caller = ANONYMOUS) -> list[ChatEvent]:
        """Decide in a chat, and read what follows."""
        followed = await decided(self.runs, ChatRequest((), decisions=decisions), owner_of(caller))
        assert followed
        return [event async for event in followed.events()]


@asynccontextmanager
async def desk(
    folder: Path,
    crm: Crm,
    service: OpenAIStandIn,
    *,
    agent: str | None = "Clerk",
    env: Mapping[str, str] = {},
    **file: Any,
) -> AsyncGenerator[Desk]:
    """Make the app of a process anew: nothing is known but what is kept in the folder."""
    path = await asyncio.to_thread(partial(agents_file, folder, crm.url, **file))
    settings = Settings.read(
        {"DATA_DIR": str(folder), "AGENTS_FILE": str(path), **env} | ({"CHAT_AGENT": agent} if agent else {})
    )
    built = await asyncio.to_thread(parts.build_service, settings)
    async with model_of(connection_to(service), retries=0) as model:
        service_of_desk = replace(built, model=model)
        runs, _ = build_runs(service_of_desk)
        yield Desk(runs, settings, built.history, service_of_desk)
    if isinstance(built.tool_servers, ToolServers):
        await built.tool_servers.aclose()


def opened(events: Sequence[ChatEvent]) -> tuple[OpenCall, ...]:
    """The calls that the end of an answer asks for."""
    *_, asked, finished = events
    assert isinstance(asked, ConsentAsked)
    assert isinstance(finished, Finished)
    assert finished.reason == "consent"
    return asked.calls


async def asked_to_drop(clerk: Desk, service: OpenAIStandIn, name: str = "x", **more: Any) -> OpenCall:
    """Ask until a person is asked whether the clerk may drop it."""
    service.call_tool("crm_drop", {"name": name})
    _, events = await clerk.ask(f"Drop {name}.", **more)
    (call,) = opened(events)
    return call


async def expire(store: ObjectStore, run_id: str) -> None:
    """Let the time pass in which the calls of a run can be decided."""
    for name in [name async for name in store.names(f"{run_id}/")]:
        found = await store.read(name)
        if found and "/tools/" in name:
            await store.write(name, msgspec.json.encode(replace(decode(found.data, KeptCall), expires=1.0)), found.etag)
        elif found and name.endswith("/state"):
            state = msgspec.structs.replace(decode(found.data, State), waits_until=1.0)
            await store.write(name, msgspec.json.encode(state), found.etag)


def yes(call: OpenCall) -> Decision:
    return Decision(approved=True, approval_id=call.approval_id)


def no(call: OpenCall, reason: str = "") -> Decision:
    return replace(yes(call), approved=False, reason=reason)


def text_of(events: Sequence[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def tool_texts(service: OpenAIStandIn) -> list[str]:
    """The results that the model was given in its last call."""
    messages: Any = service.chats[-1].body["messages"]
    return [json.loads(json.dumps(one["content"])) for one in messages if one["role"] == "tool"]
