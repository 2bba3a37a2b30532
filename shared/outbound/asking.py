"""Asking a service: again where a second try may help, never past the deadline, with its exceptions translated."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from random import SystemRandom
from typing import Any

import msgspec

from shared.chat_types import PartHealth
from shared.errors import SwitchboardError
from shared.outbound.faults import RETRIED, Fault, Reason, ServiceFault


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often a failed request is sent again, and how long to wait before that."""

    retries: int = 2
    """How often a request is sent again."""
    first_backoff: float = 0.5
    """Seconds before the first retry where the service names no time; doubled for each further one."""
    longest_wait: float = 20.0
    """The longest `Retry-After` to wait for, in seconds; a longer one ends the tries."""

    def wait(self, fault: Fault, attempt: int) -> float | None:
        """Seconds to wait before the next try; None where there should be none.

        Args:
            fault: What went wrong.
            attempt: How many retries there were before.
        """
        if fault.reason is Reason.LOADING and self.retries:
            return self.first_backoff * 2 ** min(attempt, 3)
        if fault.reason not in RETRIED or attempt >= self.retries:
            return None
        if fault.retry_after is not None:
            return fault.retry_after if fault.retry_after <= self.longest_wait else None
        # The jitter keeps those who were refused together from coming back together.
        return self.first_backoff * 2**attempt * SystemRandom().uniform(0.75, 1.25)


class Sdk(msgspec.Struct, frozen=True):
    """How the exceptions of one SDK are read."""

    raises: tuple[type[Exception], ...]
    """The exceptions that are faults of a service."""
    fault_of: Callable[[Exception], Fault]
    """Reads one of them."""
    log: logging.Logger
    """Where each fault is noted."""


def fault_in(exc: Exception) -> Fault:
    """Return the fault that an exception names; any other exception means that there was no whole answer."""
    return exc.fault if isinstance(exc, ServiceFault) else Fault(Reason.CUT_OFF)


@contextmanager
def translated(
    sdk: Sdk, to_error: Callable[[Fault], SwitchboardError], service: str, invocation_id: str | None = None
) -> Generator[None]:
    """Turn an SDK's exceptions into our errors, and log each once.

    Args:
        sdk: Whose exceptions.
        to_error: Makes the caller's error of a fault, such as `ErrorTable.error`.
        service: The service's name, for the log.
        invocation_id: The request's id, for the log.

    Raises:
        SwitchboardError: by the table in `faults`.
    """
    try:
        yield
    except sdk.raises as exc:
        fault = sdk.fault_of(exc)
        sdk.log.warning("%s", described(exc, fault, service, invocation_id))
        # Without the cause: the service's own words may quote what was sent, and a logged trace would show them.
        raise to_error(fault) from None


async def with_retries[Answer](
    call: Callable[[], Awaitable[Answer]],
    sdk: Sdk,
    policy: RetryPolicy,
    *,
    deadline: float,
    service: str,
    status_due: float | None = None,
) -> Answer:
    """Make a call, and again where a second try may help. What the last try raises is raised as it is.

    Args:
        call: Makes the request.
        sdk: The SDK that it uses.
        policy: How often, and after which waits.
        deadline: When the answer must be there, on the event loop's clock, in seconds.
        service: The service's name, for the log.
        status_due: When the status of the caller's response is sent, on the same clock. A fault for which the service
            names a longer time is raised at once, so that it can be the status. None: the response waits.

    Raises:
        TimeoutError: the deadline passed.
    """
    attempt = 0
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                return await call()
        except sdk.raises as exc:
            fault = sdk.fault_of(exc)
            wait = policy.wait(fault, attempt)
            now = asyncio.get_running_loop().time()
            if wait is None or now + wait >= deadline:
                raise
            if fault.retry_after is not None and status_due is not None and now < status_due <= now + wait:
                raise
            sdk.log.info("%s; trying again in %.1f s", described(exc, fault, service), wait)
        await asyncio.sleep(wait)
        attempt += 1


async def all_answers[Answer](calls: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """Wait for the answers of calls that are made at the same time. After the first error the others are cancelled."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def described(exc: Exception, fault: Fault, service: str, invocation_id: str | None = None) -> str:
    """Describe a fault for the log, with nothing in it that the service could have put there."""
    facts = {"status": fault.status, "code": fault.code, "request id": fault.request_id, "invocation": invocation_id}
    known = [f"{name} {value}" for name, value in facts.items() if value is not None]
    return ", ".join([f"{service}: {fault.reason.name} ({type(exc).__name__})", *known])


_HEALTH_CACHE_SECONDS = 30.0
"""Time for which a health check's result is used again: probes are frequent, and each check is a request."""


class CachedHealth:
    """The health of a service, checked at most every 30 seconds, and once for all callers that wait for it.

    Args:
        ask: Checks the health; a problem is part of its result.
    """

    def __init__(self, ask: Callable[[], Awaitable[PartHealth]]) -> None:
        self._ask = ask
        self._health: PartHealth | None = None
        self._until = 0.0
        self._asking = asyncio.Lock()

    def forget(self) -> None:
        """Check again when the health is asked for next."""
        self._until = 0.0

    async def latest(self) -> PartHealth:
        """Return the last result, or check again if it is too old."""
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if self._health is None or now >= self._until:
                self._health = await self._ask()
                self._until = now + _HEALTH_CACHE_SECONDS
            return self._health
