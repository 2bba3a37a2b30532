"""Sessions with the RAI service, for tests of its client."""

import asyncio
from typing import Self

import grpc

from shared.chat_types import RequestContext
from shared.errors import SwitchboardError
from shared.guard import SafetyEvent, SafetySession
from shared.guard.rai.client import RaiService
from shared.guard.rai.session import ERRORS, REASONS
from shared.outbound.faults import Fault
from tests.guard.safety_contract import CONTEXT, prompt
from tests.stand_ins.rai_service import Session

SILENCE = asyncio.Event


def within(seconds: float) -> RequestContext:
    return RequestContext("test", asyncio.get_running_loop().time() + seconds)


def has_text(session: Session) -> bool:
    return bool(session.buffers)


async def collect(session: SafetySession, seen: list[SafetyEvent] | None = None) -> list[SafetyEvent]:
    """All events, in a list that keeps those before a fault."""
    seen = [] if seen is None else seen
    async for event in session.events():
        seen.append(event)
    return seen


async def send_until_it_fails(session: SafetySession) -> None:
    while True:
        await session.send(prompt("x" * 1_000_000))


async def say_nothing(service: RaiService, context: RequestContext = CONTEXT) -> list[SafetyEvent]:
    async with service.session(context) as session:
        await session.finish()
        return await collect(session)


def error_of(status: grpc.StatusCode) -> SwitchboardError:
    return ERRORS.error(Fault(REASONS[status]))


class OneConnection:
    """A door in front of a port of this machine, which lets in one connection and closes all others."""

    def __init__(self, behind: int) -> None:
        self.port = 0
        self._behind = behind
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._let_in, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server:
            self._server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_first = not self._writers
        self._writers.append(writer)
        if is_first:
            theirs, ours = await asyncio.open_connection("127.0.0.1", self._behind)
            self._writers.append(ours)
            await asyncio.gather(_copy(reader, ours), _copy(theirs, writer))
        writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
    target.close()
