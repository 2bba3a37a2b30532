"""The stand-in for Azure AI Search, which the index command writes to."""

from collections.abc import AsyncGenerator

import pytest

from tests.stand_ins.ai_search import AISearchStandIn


@pytest.fixture
async def service() -> AsyncGenerator[AISearchStandIn]:
    async with AISearchStandIn() as service:
        yield service
