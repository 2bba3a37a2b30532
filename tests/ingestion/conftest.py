"""A folder that becomes an index, for the tests of what is read and of what becomes of it."""

from pathlib import Path

import pytest

from tests.ingestion.memory_index import Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)
