"""Each backend keeps chats, and the verdicts of their answers in the same place."""

import os
from pathlib import Path
from typing import get_args

import pytest

from shared.parts import open_history
from shared.settings import Settings
from shared.settings.fields import SettingsFields
from tests.history.kept_chats import new_owner
from tests.stand_ins.azurite import Azurite

BACKENDS = get_args(SettingsFields.__annotations__["history_backend"])


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_backend_that_keeps_chats_keeps_verdicts(azurite: Azurite, tmp_path: Path, backend: str) -> None:
    history, verdicts = open_history(
        Settings.read(
            {
                "HISTORY_BACKEND": backend,
                "DATA_DIR": str(tmp_path),
                "AzureWebJobsStorage": azurite.connection_string,
            }
        )
    )
    assert (await history.check()).ok
    assert (verdicts is None) == (backend == "off")
    if verdicts:
        await verdicts.forget(new_owner(), "chat")
        await verdicts.aclose()
    if backend == "azure-table":
        assert not [*os.scandir(tmp_path)]
