"""Counts of several instances, through a table of Azurite, the real service's emulator."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from azure.data.tables.aio import TableClient

from shared.budgets import Clock, Limits
from shared.budgets.ledger import Ledger
from shared.budgets.shared_counts import TABLE, SharedCounts
from shared.errors import NotConfigured
from tests.budgets.test_ledger import admitted
from tests.stand_ins.azurite import Azurite


class Instance:
    """A ledger that is shared, of a day of its own."""

    def __init__(self, azurite: Azurite, day: int, limits: Limits) -> None:
        self.now = 1_000.0
        self.day = day
        self.ledger = Ledger(limits, Limits(), Clock(lambda: self.now, lambda: self.day * 86_400.0 + 43_200))
        self.shared = SharedCounts.of(azurite.connection_string, self.ledger)
        self.ledger.changed = None  # the tests say when

    def tokens_left(self, caller: str) -> int:
        return next(one.remaining for one in self.ledger.standings(self.ledger.admit(caller).account))


@asynccontextmanager
async def instances(azurite: Azurite, count: int, limits: Limits) -> AsyncGenerator[list[Instance]]:
    """So many, on a day that no other test has."""
    day = 20_000 + uuid4().int % 1_000_000
    made = [Instance(azurite, day, limits) for _ in range(count)]
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


async def test_requests_at_other_instances_count_and_fade(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(requests=10)) as (one, other):
        assert admitted(one.ledger, "a", 6) == 6
        await exchange(one, other)
        assert 4 <= admitted(other.ledger, "a", 10) < 10  # by the service's clock the others' count is some time old
        other.now += 70
        assert admitted(other.ledger, "a", 20) == 10


async def test_an_instance_that_was_started_again_finds_what_it_spent(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(tokens=1_000)) as (one, again):
        one.ledger.spend("a", 600)
        await one.shared.exchange()
        await again.shared.exchange()
        assert again.tokens_left("a") == 400


async def test_entities_of_earlier_days_are_removed(azurite: Azurite) -> None:
    async with instances(azurite, 1, Limits(tokens=1_000)) as (one,):
        one.ledger.spend("a", 1)
        await one.shared.exchange()
        one.day += 1
        await one.shared.exchange()
        table = TableClient.from_connection_string(azurite.connection_string, TABLE)
        assert await days_in(table, one.day) == [-1, 0]
        one.day += 1
        await one.shared.exchange()
        assert await days_in(table, one.day) == [-1, 0]
        await table.close()


async def days_in(table: TableClient, today: int) -> list[int]:
    """The days until today that the table has something of, counted from today."""
    first = datetime(1970, 1, 1, tzinfo=UTC)
    names = {row["PartitionKey"] async for row in table.query_entities("PartitionKey gt ''")}
    days = [(datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC) - first).days - today for name in names]
    return sorted(day for day in days if day <= 0)


async def test_a_count_tells_the_others_by_itself(azurite: Azurite) -> None:
    async with instances(azurite, 2, Limits(tokens=1_000)) as (one, other):
        again = SharedCounts.of(azurite.connection_string, one.ledger)
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
        SharedCounts.of("nonsense", Ledger(Limits(), Limits()))
