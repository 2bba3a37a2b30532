"""The service that stands in for the RAI service, and its client."""

from collections.abc import AsyncIterator

import pytest

from shared.guard.rai.client import RaiService
from tests.stand_ins.rai_service import RaiStandIn


@pytest.fixture
async def rai() -> AsyncIterator[RaiStandIn]:
    async with RaiStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def service(rai: RaiStandIn) -> AsyncIterator[RaiService]:
    service = RaiService(rai.endpoint, "default", 10)
    yield service
    await service.aclose()
