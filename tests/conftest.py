"""What tests of several parts need, once for all of them."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from tests.stand_ins.azurite import Azurite


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def azurite() -> AsyncGenerator[Azurite]:
    """A storage account for all tests: each uses containers, queues and owners of its own, and none stops it."""
    async with Azurite() as service:
        yield service
