"""The contract of safety services on the client of the RAI service, with the stand-in and the reference service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local.rai_service.policy import load_policy
from local.rai_service.server import serving
from shared.guard.rai.client import RaiService
from tests.guard.safety_contract import SafetyContract
from tests.stand_ins.rai_service import RaiStandIn

POLICY = Path(__file__).parents[3] / "samples" / "rai-policy.yaml"


class TestClientOfTheStandIn(SafetyContract):
    unsafe = "unsäglich"

    @pytest.fixture
    async def service(self) -> AsyncIterator[RaiService]:
        async with RaiStandIn() as rai:
            rai.find(self.unsafe)
            rai.lag = 5
            service = RaiService(rai.endpoint, "default", 10)
            yield service
            await service.aclose()


class TestClientOfTheReferenceService(SafetyContract):
    unsafe = "subhuman"

    @pytest.fixture
    async def service(self) -> AsyncIterator[RaiService]:
        async with serving([load_policy(POLICY)]) as port:
            service = RaiService(f"127.0.0.1:{port}", "default", 10)
            yield service
            await service.aclose()

    async def test_health_says_that_it_is_a_stand_in(self, service: RaiService) -> None:
        health = await service.check()
        assert health.kind == "reference stand-in"
        assert "not a safety product" in health.detail
