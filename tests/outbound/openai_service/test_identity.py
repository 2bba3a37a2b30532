"""Azure OpenAI without a key, against a local identity endpoint as App Service and Functions offer it."""

import time
from collections.abc import AsyncIterator

import pytest

from shared.chat_models import ModelRequest, ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Message, RequestContext, Role
from shared.errors import Unavailable
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.outbound.openai_service.service import OpenAIService
from shared.settings import Settings
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def resources(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """What an identity endpoint is asked for."""
    async with identity_endpoint(OpenAIStandIn.api_key) as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield asked


def request() -> ModelRequest:
    return ModelRequest(messages=(Message(Role.USER, "Hi"),), question="Hi")


async def test_requests_carry_the_identitys_token_which_is_asked_for_once(resources: list[str]) -> None:
    async with OpenAIStandIn(prefix="/openai/v1") as azure:
        settings = Settings.read(
            {
                "AZURE_OPENAI_ENDPOINT": azure.base_url.removesuffix("/openai/v1"),
                "AZURE_OPENAI_CHAT_DEPLOYMENT": azure.model,
            }
        )
        connection = OpenAIConnection.from_settings(settings)
        assert connection is not None
        service = OpenAIService(connection)
        model = OpenAIChatModel(service)
        for text in ("one", "two"):
            azure.reply(text)
            events = [event async for event in model.stream(request(), RequestContext("id", time.monotonic() + 30))]
            assert [event for event in events if isinstance(event, ModelText)] == [ModelText(text)]
        await service.aclose()
        assert [chat.headers["Authorization"] for chat in azure.chats] == [f"Bearer {azure.api_key}"] * 2
    assert resources == ["https://cognitiveservices.azure.com"]


async def test_no_identity_is_an_unavailable_service_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    settings = Settings.read({"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9", "AZURE_OPENAI_CHAT_DEPLOYMENT": "chat"})
    connection = OpenAIConnection.from_settings(settings)
    assert connection is not None
    service = OpenAIService(connection)
    model = OpenAIChatModel(service)
    with pytest.raises(Unavailable, match="AZURE_OPENAI_API_KEY"):
        await anext(model.stream(request(), RequestContext("id", time.monotonic() + 30)))
    health = await model.check()
    await service.aclose()
    assert not health.ok
    assert "az login" in health.detail
