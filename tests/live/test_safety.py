"""The contract of safety services, with the configured one."""

import os
from collections.abc import AsyncGenerator

import pytest

from shared.guard import SafetyService
from shared.guard.content_safety.service import ContentSafety
from shared.guard.rai.client import RaiService
from shared.parts import build_service
from shared.settings import Settings
from tests.guard.safety_contract import SafetyContract
from tests.live.services import UNSAFE_TEXT

pytestmark = pytest.mark.live


class TestLiveSafety(SafetyContract):
    unsafe = os.environ.get(UNSAFE_TEXT, "")

    @pytest.fixture
    async def service(self) -> AsyncGenerator[SafetyService]:
        service = build_service(Settings.read(os.environ)).safety
        assert isinstance(service, RaiService | ContentSafety)
        yield service
        await service.aclose()
