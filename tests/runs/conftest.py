"""A desk whose clerk can look and, if a person agrees, drop."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.runs.acting import Crm, Desk, crm, desk
from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def server() -> AsyncGenerator[Crm]:
    async with crm() as server:
        yield server


@pytest.fixture
async def clerk(tmp_path: Path, server: Crm, service: OpenAIStandIn) -> AsyncGenerator[Desk]:
    async with desk(tmp_path, server, service) as clerk:
        yield clerk
