"""The store that turns are recorded in."""

from pathlib import Path

import pytest

from shared.history.sqlite_history import SqliteHistory


@pytest.fixture
def history(tmp_path: Path) -> SqliteHistory:
    return SqliteHistory(tmp_path / "history.sqlite")
