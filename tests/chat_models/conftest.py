"""The chat model and the service that stands in for OpenAI's."""

from collections.abc import AsyncIterator

import pytest

from shared.chat_models.openai_chat import OpenAIChatModel
from tests.stand_ins.openai_connected import connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def service() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def model(service: OpenAIStandIn) -> AsyncIterator[OpenAIChatModel]:
    async with model_of(connection_to(service)) as model:
        yield model
