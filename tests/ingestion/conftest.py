"""A folder that becomes an index, for the tests of what is read and of what becomes of it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.reading.sandbox import sandbox_for_documents
from tests.ingestion.memory_index import Workplace


@pytest.fixture(params=["a reader for each file", "kept readers"])
async def place(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Workplace]:
    place = Workplace(tmp_path)
    place.sandbox = sandbox_for_documents(keeps_readers=request.param == "kept readers")
    yield place
    await place.sandbox.aclose()
