"""Texts that are analysed, for tests of the service."""

import asyncio

from shared.chat_types import RequestContext
from shared.guard import Buffer, Place, SafetyEvent, Side
from shared.guard.content_safety.service import ContentSafety

ANSWER = Place(Side.COMPLETION, "0", 0)


def context(seconds: float = 30) -> RequestContext:
    return RequestContext("invocation-1", asyncio.get_running_loop().time() + seconds)


async def analysed(safety: ContentSafety, *buffers: Buffer) -> list[SafetyEvent]:
    async with safety.session(context()) as session:
        for buffer in buffers:
            await session.send(buffer)
        await session.commit()
        await session.finish()
        return [event async for event in session.events()]
