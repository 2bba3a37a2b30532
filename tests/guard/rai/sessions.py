"""Sessions with the RAI service, for tests of its client."""

import asyncio

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
