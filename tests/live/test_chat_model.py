"""The contract of chat models, with the configured one."""

import os
from collections.abc import AsyncGenerator

import pytest

from shared.chat_models import ChatModel
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.settings import Settings
from tests.chat_models.model_contract import ModelContract
from tests.stand_ins.openai_connected import model_of

pytestmark = pytest.mark.live


class TestLiveChatModel(ModelContract):
    other_model = os.environ.get("OPENAI_CHAT_MODEL") or os.environ.get("AZURE_OPENAI_CHAT_DEPLOYMENT") or ""
    repeats_itself = False

    @pytest.fixture
    async def model(self) -> AsyncGenerator[ChatModel]:
        connection = OpenAIConnection.from_settings(Settings.read(os.environ))
        assert connection
        async with model_of(connection) as model:
            yield model
