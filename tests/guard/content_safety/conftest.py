"""The service that stands in for Azure AI Content Safety, and its client."""

from collections.abc import AsyncGenerator

import pytest
from pydantic import SecretStr

from shared.guard.content_safety.service import ContentSafety
from shared.guard.content_safety.severity_policy import DEFAULT_POLICY
from tests.stand_ins.content_safety import ContentSafetyStandIn


@pytest.fixture
async def service() -> AsyncGenerator[ContentSafetyStandIn]:
    async with ContentSafetyStandIn() as stand_in:
        stand_in.finds("knife", "Violence", 5)
        stand_in.finds("rude", "Hate", 3)
        yield stand_in


@pytest.fixture
async def safety(service: ContentSafetyStandIn) -> AsyncGenerator[ContentSafety]:
    made = ContentSafety(service.endpoint, SecretStr(service.key), DEFAULT_POLICY, 10)
    yield made
    await made.aclose()
