"""Budgets of many instances: what an exchange of one takes, and how much passes beyond a limit.

The instances are ledgers of this process with a clock that is simulated; their rows are in Azurite. Each exchanges as
the app does: every three seconds, and at once where many counts are unreported.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import batched
from random import Random

from bench.rounds import Comparison
from shared.budgets import Clock, Limits
from shared.budgets.ledger import SHARE, Ledger, Scope
from shared.budgets.shared_counts import SOONEST_SECONDS, SYNC_SECONDS, SharedCounts
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import counted

_INSTANCES = (2, 40, 200, 1_000)
_AT_A_TIME = 5
"""Exchanges at the same time: more would wait for Azurite longer than an exchange may take."""
_FIRST_DAY = 40_000
_DAY = 86_400.0
_CALL = 500
"""Tokens of a request."""


@dataclass
class _Time:
    now: float = _DAY / 2
    day: int = _FIRST_DAY

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.day * _DAY + self.now)


@dataclass
class _Instance:
    ledger: Ledger
    shared: SharedCounts
    next_exchange: float = 0.0
    is_urgent: bool = False
    passed: list[float] = field(default_factory=list[float])
    """When the requests came that passed."""

    def note(self, is_urgent: bool) -> None:  # the ledger's callback
        self.is_urgent = self.is_urgent or is_urgent


@asynccontextmanager
async def _instances(
    connection_string: str, moment: _Time, count: int, caller: Limits, everybody: Limits
) -> AsyncGenerator[list[_Instance]]:
    made: list[_Instance] = []
    moment.day += 10  # whatever was counted before is of another day
    try:
        for number in range(count):
            ledger = Ledger(caller, everybody, moment.clock)
            one = _Instance(ledger, SharedCounts(connection_string, ledger))
            one.next_exchange = moment.now + SYNC_SECONDS * number / count
            ledger.changed = one.note
            made.append(one)
        yield made
    finally:
        for one in made:
            await one.shared.aclose()


async def report() -> list[Comparison]:
    """Compare what an exchange takes, and simulate two bursts at the largest number of instances."""
    async with Azurite() as service:
        costs = await compare(service, _INSTANCES)
        return [
            *costs,
            await one_caller(service, _INSTANCES[-1], limit=30, seconds=60),
            await all_callers(service, _INSTANCES[-1], limit=1_000_000, seconds=15),
        ]


async def compare(service: Azurite, counts: Sequence[int]) -> list[Comparison]:
    """Measure an exchange of one instance among so many that serve the same caller."""
    taken: dict[str, dict[str, list[float]]] = {}
    moment, limits = _Time(), Limits(10**6, 10**9)
    async with counted(service) as relay:
        for count in counts:
            async with _instances(service.connection_string, moment, count - 1, limits, limits) as others:
                ledger = Ledger(limits, limits, moment.clock)
                shared = SharedCounts(relay.connection_string, ledger)
                ledger.changed = lambda _: None
                for some in batched(others, _AT_A_TIME, strict=False):
                    for one in some:
                        one.ledger.admit("a")
                    await asyncio.gather(*(one.shared.exchange() for one in some))
                for _ in range(6):
                    ledger.admit("a")
                    ledger.spend("a", _CALL)
                    moment.now += SYNC_SECONDS
                    relay.traffic.take()
                    begun = time.process_time()
                    await shared.exchange()
                    values = {
                        "requests": float(relay.traffic.requests),
                        "kB": relay.traffic.bytes / 1000,
                        "milliseconds of CPU time": (time.process_time() - begun) * 1000,
                    }
                    for unit, value in values.items():
                        taken.setdefault(unit, {}).setdefault(f"{count:,} instances", []).append(value)
                await shared.aclose()
    return [
        Comparison("An exchange, by the number of instances", unit, values, (next(iter(values)),))
        for unit, values in taken.items()
    ]


async def one_caller(service: Azurite, count: int, *, limit: int, seconds: int) -> Comparison:
    """Simulate a caller who asks all instances all the time; count what passes in a minute."""
    moment = _Time()
    async with _instances(service.connection_string, moment, count, Limits(requests=limit), Limits()) as made:
        for _ in range(round(seconds / SOONEST_SECONDS)):
            for one in made:
                if one.ledger.admit("a").refusal is None:
                    one.passed.append(moment.now)
            await _pass(moment, made)
        passed = sum(len(one.passed) for one in made)
    # An instance is asked once in the time of an exchange.
    bound = limit + count * (limit / SHARE + 1)
    values = {"limit": [float(limit)], "passed": [float(passed)], "bound": [bound]}
    return Comparison(f"One caller asks each of {count:,} instances", "requests a minute", values, ("limit",))


async def all_callers(service: Azurite, count: int, *, limit: int, seconds: int) -> Comparison:
    """Simulate a request a second at each instance, each of another caller; count their tokens."""
    moment, random = _Time(), Random(0)  # noqa: S311 (no secret)
    steps = round(1 / SOONEST_SECONDS)
    spent = 0
    async with _instances(service.connection_string, moment, count, Limits(), Limits(tokens=limit)) as made:
        for step in range(seconds * steps):
            for one in made:
                if random.random() < 1 / steps and one.ledger.admit(f"{step}").refusal is None:
                    one.ledger.spend(f"{step}", _CALL)
                    spent += _CALL
            await _pass(moment, made)
    # Three exchanges pass on what was spent: to the group, to the sums, to the others.
    bound = limit + min(count * (2 * limit / SHARE + _CALL), 3 * SYNC_SECONDS * count * _CALL)
    values = {"limit": [float(limit)], "passed": [float(spent)], "bound": [bound]}
    return Comparison(f"All callers at {count:,} instances", "tokens a day", values, ("limit",))


async def _pass(moment: _Time, made: Sequence[_Instance]) -> None:
    """Let the time of one step pass, and what has to be exchanged be exchanged."""
    regular = [one for one in made if one.next_exchange <= moment.now]
    urgent = [one for one in made if one.is_urgent and one.next_exchange > moment.now]
    for one in regular:
        one.next_exchange += SYNC_SECONDS
    exchanges: list[tuple[_Instance, Scope]] = [
        *((one, "soon") for one in regular),
        *((one, "at once") for one in urgent),
    ]
    for some in batched(exchanges, _AT_A_TIME, strict=False):
        for one, _ in some:
            one.is_urgent = False
        await asyncio.gather(*(one.shared.exchange(scope) for one, scope in some if one.ledger.waits))
    moment.now += SOONEST_SECONDS
