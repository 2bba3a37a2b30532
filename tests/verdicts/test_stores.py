"""Verdicts in a SQLite file, and in a table of Azurite, the real service's emulator."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from shared.errors import NotFound
from shared.history.azure_table import HistoryTable
from shared.verdicts.azure_table_verdicts import AzureTableVerdicts
from shared.verdicts.sqlite_verdicts import SqliteVerdicts
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.counted_storage import counted
from tests.verdicts.verdict_contract import UP, VerdictContract, answered, new_owner


class TestSqliteVerdicts(VerdictContract):
    @pytest.fixture
    def verdicts(self, tmp_path: Path) -> SqliteVerdicts:
        return SqliteVerdicts(tmp_path / "deep" / "verdicts.sqlite")


class TestAzureTableVerdicts(VerdictContract):
    @pytest.fixture
    async def verdicts(self, azurite: Azurite) -> AsyncGenerator[AzureTableVerdicts]:
        store = AzureTableVerdicts(HistoryTable.of(azurite.connection_string))
        yield store
        await store.aclose()

    async def test_verdicts_at_the_same_time_are_one_new_and_others_that_replace_it(
        self, verdicts: AzureTableVerdicts
    ) -> None:
        owner, answer = new_owner(), answered()
        await verdicts.add(owner, answer)
        first = await asyncio.gather(*(verdicts.judge(owner, answer.id, UP) for _ in range(5)))
        assert sorted(first) == [False] * 4 + [True]

    async def test_a_chat_is_forgotten_by_one_query_of_its_owners_partition(
        self, azurite: Azurite, verdicts: AzureTableVerdicts
    ) -> None:
        owner, answers = new_owner(), [msgspec.structs.replace(answered("chat"), text="short") for _ in range(20)]
        for answer in answers:
            await verdicts.add(owner, answer)
        await verdicts.judge(owner, answers[0].id, UP)
        async with counted(azurite) as relay:
            forgetting = AzureTableVerdicts(HistoryTable.of(relay.connection_string))
            async with aclosing(forgetting):
                await forgetting.page(1)  # makes the table
                relay.traffic.take()
                await forgetting.forget(owner, "another chat")
                assert relay.traffic.take().requests == 1
                await forgetting.forget(owner, "chat")
            assert relay.traffic.requests == 1 + 3 + 1  # the query, the answer that was judged, all others
        for answer in answers:
            with pytest.raises(NotFound):
                await verdicts.judge(owner, answer.id, UP)

    async def test_a_chat_that_is_forgotten_while_an_answer_is_judged_leaves_no_verdict(
        self, azurite: Azurite, verdicts: AzureTableVerdicts
    ) -> None:
        for request in range(1, 6):
            owner, answer = new_owner(), answered("chat")
            await verdicts.add(owner, answer)

            async def forget(number: int, request: int = request, owner: str = owner) -> None:
                if number == request:
                    await verdicts.forget(owner, "chat")

            async with counted(azurite) as relay:
                judging = AzureTableVerdicts(HistoryTable.of(relay.connection_string))
                async with aclosing(judging):
                    await judging.page(1)
                    relay.traffic.take()
                    relay.before = forget
                    with pytest.raises(NotFound):
                        await judging.judge(owner, answer.id, UP)
            assert await self.judged(verdicts, [answer]) == []


async def test_nothing_of_a_forgotten_chat_stays_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.sqlite"
    verdicts, owner, answer = SqliteVerdicts(file), new_owner(), answered("Quagga")
    await verdicts.add(owner, answer)
    assert b"Quagga" in file.read_bytes()
    await verdicts.forget(owner, "Quagga")
    assert b"Quagga" not in file.read_bytes()
