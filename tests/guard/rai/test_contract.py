"""The contract of safety services on the client of the RAI service, with the stand-in and the reference service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local.rai_service.policy import load_policy
from local.rai_service.server import serving
from shared.errors import Unavailable
from shared.guard.rai.client import RaiService
from tests.guard.safety_contract import SafetyContract
from tests.stand_ins.rai_service import RaiStandIn
from tests.stand_ins.rai_variants import RESULT, RIGHT, VARIANTS, Encode, numbers, variant

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


EXCHANGED = {"isDetected and severity change places": variant(numbers(RESULT, isDetected=3, severity=2))}
"""Other numbers that no single response gives away."""


@pytest.mark.parametrize("encode", (VARIANTS | EXCHANGED).values(), ids=VARIANTS | EXCHANGED)
async def test_the_contract_tells_right_numbers_from_wrong(encode: Encode) -> None:
    contract = TestClientOfTheStandIn()
    async with RaiStandIn() as rai:
        rai.find(contract.unsafe)
        service = RaiService(rai.endpoint, "default", 10)
        rai.encode = RIGHT
        await contract.test_what_its_events_say_fits_together(service)
        rai.encode = encode
        with pytest.raises((AssertionError, Unavailable)):
            await contract.test_what_its_events_say_fits_together(service)
        await service.aclose()
