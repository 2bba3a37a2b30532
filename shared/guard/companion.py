"""The companion function: forwards a caller's payloads to the safety service, and yields the service's events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from shared.chat_types import RequestContext
from shared.errors import RateLimited, TooSlow, Unavailable
from shared.guard import AnalysisResult, Buffer, Completion, SafetyEvent, SafetyService, SafetySession
from shared.guard.clearance import Coverage

MOST_RESULTS = 200_000
"""Results and watermarks of one analysis; a caller gets all of them in one answer."""
_SESSION_OVER = (RateLimited, TooSlow, Unavailable)
"""Errors that end a session. Sending may raise them first; reading raises them too, after the earlier events."""


async def analyse(
    buffers: Sequence[Buffer],
    service: SafetyService,
    context: RequestContext,
    silence: float,
    *,
    blind: bool = False,
) -> AsyncGenerator[SafetyEvent]:
    """Have one conversation analysed in one session, and yield the service's events as they come.

    Args:
        buffers: The payloads in their order. A side is complete when the other begins, and at the end.
        service: The service that analyses.
        context: The request's context.
        silence: Seconds that the service may be silent.
        blind: Whether the service may name only tasks without a model.

    Raises:
        SwitchboardError: an error of the session; TooSlow if the service is silent; Unavailable if it ends without
            having blocked anything or analysed everything: otherwise callers would take the text for harmless.
    """
    blocked = whole = False
    count = 0
    coverage = Coverage()
    async with service.session(context) as session:
        sending = asyncio.create_task(_send(buffers, session))
        try:
            async with aclosing(session.events()) as events:
                while event := await _next(events, sending, silence):
                    count += 1
                    if isinstance(event, AnalysisResult):
                        count += len(event.findings)
                        blocked = blocked or event.blocking
                        coverage.take_in(event)
                    if count > MOST_RESULTS:
                        raise Unavailable("The safety service has too many results. Send less text.")
                    whole = whole or (isinstance(event, Completion) and event.whole)
                    yield event
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    if not blocked and not whole:
        raise Unavailable("The safety service did not analyse everything. Try again.")
    if not blocked and not blind and coverage.fault:
        raise coverage.fault


async def _send(buffers: Sequence[Buffer], session: SafetySession) -> None:
    for buffer, following in zip(buffers, [*buffers[1:], None], strict=True):
        await session.send(buffer)
        if following is None or following.side is not buffer.side:
            await session.commit()
    await session.finish()


async def _next(events: AsyncGenerator[SafetyEvent], sending: asyncio.Task[None], silence: float) -> SafetyEvent | None:
    """Wait for the next event; return None at the end. Raises the error of sending if that fails first."""
    waiting = asyncio.ensure_future(anext(events, None))
    try:
        async with asyncio.timeout(silence):
            if not sending.done():
                await asyncio.wait({waiting, sending}, return_when=asyncio.FIRST_COMPLETED)
            failure = sending.exception() if sending.done() else None
            if failure and not isinstance(failure, _SESSION_OVER):
                raise failure
            return await waiting
    except TimeoutError:
        raise TooSlow("The safety service did not answer in time. Try again.") from None
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
