"""Asks a service of Azure, and again where that may help, within a deadline. Imports `azure.core`: import it late."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from azure.core.exceptions import AzureError

from shared.errors import SwitchboardError
from shared.outbound.azure_service.faults import MAY_PASS, Fault, fault_of
from shared.outbound.retry_after import wait_before_retry

_log = logging.getLogger("switchboard.azure")

# Of an error that is none of the service's the SDKs log a trace, which may quote it.
for _sdk in ("azure.ai", "azure.search"):
    logging.getLogger(_sdk).setLevel(logging.ERROR)

OPTIONS: Mapping[str, Any] = {
    "connection_timeout": 5,
    # The SDKs' own retries would sleep past our deadline, and a redirect would take text and key elsewhere.
    "retry_total": 0,
    "permit_redirects": False,
}
"""For the SDKs' clients; times in seconds."""

_WRONG = (AzureError, TimeoutError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What the SDKs raise; see `faults.BY_CLASS`."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait for a service, in seconds."""

    retries: int = 2
    """How often a request is sent again."""
    first_backoff: float = 0.5
    """Before the first retry where the service names no time; doubled for each further one."""
    longest_wait: float = 20.0
    """The longest `Retry-After` to sit out; the caller decides about longer ones."""

    def wait(self, fault: Fault, attempt: int) -> float | None:
        """Seconds to wait before the next try; None where there should be none."""
        if fault.reason not in MAY_PASS or attempt >= self.retries:
            return None
        backoff = self.first_backoff * 2**attempt
        return wait_before_retry(fault.retry_after, backoff=backoff, longest=self.longest_wait)


async def ask[Answer](
    call: Callable[[], Awaitable[Answer]],
    *,
    deadline: float,
    patience: RetryPolicy,
    told: Callable[[Fault], SwitchboardError],
    service: str,
) -> Answer:
    """Make a call of an SDK, again where a second try may help.

    Args:
        call: Begins it.
        deadline: When the answer must be there, on the event loop's clock, in seconds.
        patience: How long to wait for the service.
        told: Makes what is raised of a fault.
        service: What is asked, for the log.

    Raises:
        SwitchboardError: there is no answer.
    """
    attempt = 0
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                return await call()
        except _WRONG as exc:
            fault = fault_of(exc)
            _log.warning("%s: %s (%s), status %s", service, fault.reason.name, type(exc).__name__, fault.status)
            wait = patience.wait(fault, attempt)
            if wait is None or asyncio.get_running_loop().time() + wait >= deadline:
                # The service's own words may quote what was sent: a logged trace must not show them.
                raise told(fault) from None
        await asyncio.sleep(wait)
        attempt += 1
