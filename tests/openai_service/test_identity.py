"""Azure OpenAI without a key, against a local identity endpoint as App Service and Functions offer it."""

import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from shared.chat_models import ModelRequest, ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Message, RequestContext, Role
from shared.errors import Unavailable
from shared.openai_service.connection import OpenAIConnection
from shared.openai_service.service import OpenAIService
from shared.settings import Settings
from tests.stand_ins.openai_service import OpenAIStandIn

type TokenRequests = list[web.Request]


@pytest.fixture
async def token_requests(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TokenRequests]:
    requests: TokenRequests = []

    async def answer(request: web.Request) -> web.Response:
        requests.append(request)
        expires = int(time.time()) + 3600
        return web.json_response(
            {"access_token": OpenAIStandIn.api_key, "expires_on": str(expires), "token_type": "Bearer", "resource": "x"}
        )

    application = web.Application()
    application.router.add_get("/msi/token", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}/msi/token")
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    yield requests
    await runner.cleanup()


def request() -> ModelRequest:
    return ModelRequest(messages=(Message(Role.USER, "Hi"),), question="Hi")


async def test_requests_carry_the_identitys_token_which_is_asked_for_once(token_requests: TokenRequests) -> None:
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
    assert len(token_requests) == 1
    assert token_requests[0].query["resource"] == "https://cognitiveservices.azure.com"


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
