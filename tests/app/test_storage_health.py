"""Health says which part of the app's own storage account it may not use: queue and blobs, tables."""

from pathlib import Path

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.stand_ins.azurite import Azurite

pytestmark = pytest.mark.asyncio(loop_scope="session")

IN_TABLES = {"HISTORY_BACKEND": "azure-table", "LIMIT_BACKEND": "azure-table", "LIMIT_REQUESTS_PER_MINUTE": "1000"}
PARTS = ("batches", "history", "limits")


async def test_parts_in_storage_are_well_with_the_right_key_and_named_with_another(
    data_dir: Path, http: aiohttp.ClientSession, azurite: Azurite
) -> None:
    right = azurite.connection_string
    wrong = ";".join("AccountKey=aHVudGVyMg==" if part.startswith("AccountKey=") else part for part in right.split(";"))
    for connection, ok in ((right, True), (wrong, False)):
        async with hosted(data_dir, IN_TABLES | {"AzureWebJobsStorage": connection}) as host:
            async with http.get(f"{host.url}/health") as response:
                health = await response.json()
            told = {name: health["parts"][name] for name in PARTS}
            assert {name: part["ok"] for name, part in told.items()} == dict.fromkeys(PARTS, ok)
            # Questions are answered without them.
            assert (response.status, health["status"]) == (200, "ok" if ok else "degraded")
            if not ok:
                assert "'Storage Queue Data Contributor'" in told["batches"]["detail"]
                assert "'Storage Table Data Contributor'" in told["history"]["detail"]
                assert "'Storage Table Data Contributor'" in told["limits"]["detail"]
            assert "aHVudGVyMg" not in host.log()


@pytest.mark.parametrize("connection", ["UseDevelopmentStorag=true", "hunter2", "AccountKey=hunter2"])
async def test_a_malformed_connection_string_is_named_and_not_repeated(
    data_dir: Path, http: aiohttp.ClientSession, connection: str
) -> None:
    async with hosted(data_dir, {"AzureWebJobsStorage": connection}) as host:
        for path in ("health", "v1/models"):
            async with http.get(f"{host.url}/{path}") as response:
                said = await response.text()
            assert (response.status, "AzureWebJobsStorage: should be the connection string" in said) == (503, True)
            assert "hunter2" not in said
        assert "hunter2" not in host.log()
