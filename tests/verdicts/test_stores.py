"""Verdicts in a SQLite file, and in a table of Azurite, the real service's emulator."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.history.azure_table import HistoryTable
from shared.verdicts.azure_table_verdicts import TABLE, AzureTableVerdicts
from shared.verdicts.sqlite_verdicts import SqliteVerdicts
from tests.stand_ins.azurite import Azurite
from tests.verdicts.verdict_contract import UP, VerdictContract, answered, new_owner


class TestSqliteVerdicts(VerdictContract):
    @pytest.fixture
    def verdicts(self, tmp_path: Path) -> SqliteVerdicts:
        return SqliteVerdicts(tmp_path / "deep" / "verdicts.sqlite")


class TestAzureTableVerdicts(VerdictContract):
    @pytest.fixture
    async def verdicts(self, azurite: Azurite) -> AsyncGenerator[AzureTableVerdicts]:
        store = AzureTableVerdicts(HistoryTable.of(azurite.connection_string, TABLE))
        yield store
        await store.aclose()

    async def test_verdicts_at_the_same_time_are_one_new_and_others_that_replace_it(
        self, verdicts: AzureTableVerdicts
    ) -> None:
        owner, answer = new_owner(), answered()
        await verdicts.keep(owner, answer)
        first = await asyncio.gather(*(verdicts.judge(owner, answer.id, UP) for _ in range(5)))
        assert sorted(first) == [False] * 4 + [True]


async def test_nothing_of_a_forgotten_chat_stays_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.sqlite"
    verdicts, owner, answer = SqliteVerdicts(file), new_owner(), answered("Quagga")
    await verdicts.keep(owner, answer)
    assert b"Quagga" in file.read_bytes()
    await verdicts.forget(owner, "Quagga")
    assert b"Quagga" not in file.read_bytes()
