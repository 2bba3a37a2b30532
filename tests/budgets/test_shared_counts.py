"""Counts of several instances, through a table of Azurite, the real service's emulator."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from azure.data.tables.aio import TableServiceClient

from bench.budgets import all_callers, one_caller
from shared.budgets import Clock, Limits
from shared.budgets.ledger import Ledger
from shared.budgets.shared_counts import TABLE, SharedCounts
from shared.errors import NotConfigured
from tests.budgets.test_ledger import admitted
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import counted


class Instance:
    """A ledger that is shared, of a day of its own."""

    def __init__(self, azurite: Azurite, day: int, limits: Limits, everybody: Limits) -> None:
        self.now = 1_000.0
        self.day = day
        clock = Clock(lambda: self.now, lambda: self.day * 86_400.0 + 43_200 + self.now)
        self.ledger = Ledger(limits, everybody, clock)
        self.shared = SharedCounts(azurite.connection_string, self.ledger)
        self.ledger.changed = lambda _is_urgent: None  # the tests say when

    def tokens_left(self, caller: str) -> int:
        account = self.ledger.admit(caller).account
        return next(one.remaining for one in self.ledger.standings(account) if one.unit == "tokens")


@asynccontextmanager
async def instances(
    azurite: Azurite, count: int, limits: Limits, everybody: Limits | None = None
) -> AsyncGenerator[list[Instance]]:
    """So many, on a day that no other test has."""
    day = 20_000 + uuid4().int % 1_000_000
    made = [Instance(azurite, day, limits, everybody or Limits()) for _ in range(count)]
    try:
        yield made
    finally:
        for one in made:
            await one.shared.aclose()


async def exchange(*made: Instance) -> None:
    for _ in range(2):  # the second time all have written
        await asyncio.gather(*(one.shared.exchange() for one in made))


async def test_what_a_caller_spends_at_one_instance_is_gone_at_the_other(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(tokens=1_000)) as (one, other):
        one.ledger.spend("a", 600)
        other.ledger.spend("a", 150)
        other.ledger.spend("b", 5)
        one.ledger.admit("b")
        await exchange(one, other)
        assert one.tokens_left("a") == other.tokens_left("a") == 250
        one.ledger.spend("a", 250)
        await exchange(one, other)
        assert one.ledger.admit("a").refusal
        assert other.ledger.admit("a").refusal
        assert other.tokens_left("b") == one.tokens_left("b") == 995


async def test_an_exchange_that_is_repeated_counts_nothing_twice(azurite: Azurite) -> None:
    async with instances(azurite, 3, Limits(tokens=1_000)) as made:
        for one in made:
            one.ledger.spend("a", 100)
        for _ in range(3):
            await exchange(*made)
        assert [one.tokens_left("a") for one in made] == [700, 700, 700]


async def test_requests_at_other_instances_count_for_a_minute(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(requests=10)) as (one, other):
        assert admitted(one.ledger, "a", 6) == 6
        await exchange(one, other)
        assert admitted(other.ledger, "a", 1) == 1
        await exchange(one, other)
        assert admitted(other.ledger, "a", 10) == 3
        for each in (one, other):
            each.now += 70
        assert admitted(other.ledger, "a", 20) == 10


async def test_what_all_callers_spend_counts_at_all_instances_and_a_correction_gives_back(azurite: Azurite) -> None:
    async with instances(azurite, 8, Limits(), Limits(tokens=1_000)) as made:
        for number, one in enumerate(made):
            one.ledger.spend(f"caller {number}", 200)
        for _ in range(3):  # the group, the sums of all groups, and what the others have copied there
            await asyncio.gather(*(one.shared.exchange() for one in made))
            for one in made:
                one.now += 3
        assert all(one.ledger.admit("new").refusal for one in made)
        made[0].ledger.spend("caller 0", -700)
        for _ in range(3):
            await asyncio.gather(*(one.shared.exchange() for one in made))
            for one in made:
                one.now += 3
        assert [one.tokens_left("new") for one in made] == [100] * 8


async def test_many_instances_that_tell_of_one_caller_at_once_lose_nothing(azurite: Azurite) -> None:
    async with instances(azurite, 12, Limits(tokens=100_000)) as made:
        for one in made:
            one.ledger.spend("a", 1_000)
        for _ in range(4):
            await asyncio.gather(*(one.shared.exchange() for one in made))
        made[0].ledger.spend("a", 10_000)
        await exchange(made[0])
        assert made[0].tokens_left("a") == 78_000


async def test_a_count_whose_answer_is_lost_counts_once(azurite: Azurite) -> None:
    async with counted(azurite) as relay, instances(azurite, 1, Limits(tokens=1_000)) as (other,):
        one = Instance(azurite, other.day, Limits(tokens=1_000), Limits())
        one.shared = SharedCounts(relay.connection_string, one.ledger)
        one.ledger.changed = lambda _is_urgent: None
        for _ in range(2):
            one.ledger.spend("a", 100)
            await one.shared.exchange()
            relay.traffic.take()
            relay.on_write = lambda number, is_done: not is_done or number > 1
        other.ledger.admit("a")
        await exchange(other)
        assert other.tokens_left("a") == one.tokens_left("a") == 800
        assert relay.traffic.writes == 0
        await one.shared.aclose()


async def test_what_an_exchange_takes_does_not_grow_with_the_instances(azurite: Azurite) -> None:
    async with counted(azurite) as relay, instances(azurite, 20, Limits(tokens=1_000), Limits(tokens=10_000)) as many:
        day = many[0].day
        one = Instance(azurite, day, Limits(tokens=1_000), Limits(tokens=10_000))
        one.shared = SharedCounts(relay.connection_string, one.ledger)
        one.ledger.changed = lambda _is_urgent: None
        taken: list[int] = []
        for others in (many[:2], many):
            for each in (*others, one):
                each.ledger.spend("a", 1)
                each.now += 20
            await asyncio.gather(*(each.shared.exchange() for each in others))
            await one.shared.exchange()
            one.ledger.spend("a", 1)
            one.now += 20
            relay.traffic.take()
            await one.shared.exchange()
            taken.append(relay.traffic.requests)
        assert max(taken) <= 5
        await one.shared.aclose()


async def test_an_instance_that_was_started_again_finds_what_it_spent(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(tokens=1_000)) as (one, again):
        one.ledger.spend("a", 600)
        await one.shared.exchange()
        assert again.ledger.admit("a").refusal is None
        await again.shared.exchange("soon")
        assert again.tokens_left("a") == 400


async def test_the_tables_of_earlier_days_are_removed(azurite: Azurite) -> None:
    async with instances(azurite, 1, Limits(tokens=1_000)) as (one,):
        one.ledger.spend("a", 1)
        await one.shared.exchange()
        one.day += 1
        await one.shared.exchange()
        assert await days_kept(azurite, one.day) == [-1, 0]
        one.day += 1
        await one.shared.exchange()
        assert await days_kept(azurite, one.day) == [-1, 0]


async def days_kept(azurite: Azurite, today: int) -> list[int]:
    """The days until today that have a table, counted from today."""
    first = datetime(1970, 1, 1, tzinfo=UTC)
    async with TableServiceClient.from_connection_string(azurite.connection_string) as service:
        of_budgets = f"TableName ge '{TABLE}' and TableName lt '{TABLE}A'"
        names = [item.name.removeprefix(TABLE) async for item in service.query_tables(of_budgets)]
    days = [(datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC) - first).days - today for name in names]
    return sorted(day for day in days if day <= 0)


async def test_at_midnight_the_tokens_begin_anew_and_the_requests_of_the_last_minute_count(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(requests=10, tokens=1_000)) as (one, other):
        for each in (one, other):
            each.now = 43_200 - 10
        assert admitted(one.ledger, "a", 10) == 10
        one.ledger.spend("a", 1_000)
        await exchange(one, other)
        for each in (one, other):
            each.now += 20
        one.ledger.spend("a", 1)
        await exchange(one)
        other.ledger.spend("a", 100)
        await exchange(other, one)
        wait = other.ledger.admit("a").refusal
        assert wait
        assert "10 requests a minute" in wait.message
        for each in (one, other):
            each.now += 60
        assert other.tokens_left("a") == 899


async def test_a_count_tells_the_others_by_itself(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(tokens=1_000)) as (one, other):
        again = SharedCounts(azurite.connection_string, one.ledger)
        one.ledger.spend("a", 600)
        async with asyncio.timeout(60):
            while other.tokens_left("a") != 400:
                await other.shared.exchange()
        await again.aclose()


async def test_a_table_that_fails_is_told_once_and_the_instance_counts_for_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "switchboard.budgets")
    async with Azurite() as service, instances(service, 1, Limits(tokens=1_000)) as (one,):
        one.ledger.spend("a", 600)
        await one.shared.exchange()
        await service.stop()
        for _ in range(3):
            await one.shared.exchange()
        one.ledger.spend("a", 100)
        assert one.tokens_left("a") == 300
        await service.start()
        await one.shared.exchange()
        assert one.tokens_left("a") == 300
    told = [record.message for record in caplog.records if record.name == "switchboard.budgets"]
    assert told == [
        "the table of budgets fails (ServiceRequestError): this instance counts for itself",
        "the table of budgets works again",
    ]


def test_what_is_no_connection_string_is_named() -> None:
    with pytest.raises(NotConfigured, match="AzureWebJobsStorage"):
        SharedCounts("nonsense", Ledger(Limits(), Limits()))


async def test_of_one_caller_no_more_passes_at_many_instances_than_the_formula_says(azurite: Azurite) -> None:
    result = await one_caller(azurite, 20, limit=30, seconds=20)
    assert 30 <= result.values["passed"][0] <= result.values["bound"][0]


async def test_of_all_callers_no_more_passes_at_many_instances_than_the_formula_says(azurite: Azurite) -> None:
    result = await all_callers(azurite, 20, limit=20_000, seconds=12)
    assert 20_000 <= result.values["passed"][0] <= result.values["bound"][0]
