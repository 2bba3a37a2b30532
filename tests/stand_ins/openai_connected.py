"""Our client connected to the stand-in, for the tests of everything that talks to OpenAI."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest
from pydantic import SecretStr

from shared.chat_models import ModelEvent, ModelRequest
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Message, RequestContext, Role
from shared.errors import SwitchboardError
from shared.events import CompletionStarted
from shared.outbound.asking import RetryPolicy
from shared.outbound.openai_service.connection import AnswerTimeouts, OpenAIConnection, ServedModel
from shared.outbound.openai_service.service import OpenAIService
from tests.stand_ins.openai_service import OpenAIStandIn

QUESTION = ModelRequest(messages=(Message(Role.USER, "What is covered?"),), question="What is covered?")


def connection_to(service: OpenAIStandIn) -> OpenAIConnection:
    return OpenAIConnection(
        kind="openai-compatible",
        base_url=service.base_url,
        api_key=SecretStr(service.api_key),
        address_setting="OPENAI_BASE_URL",
        key_setting="OPENAI_API_KEY",
        chat_model=ServedModel(service.model, "OPENAI_CHAT_MODEL"),
    )


@asynccontextmanager
async def model_of(
    *connections: OpenAIConnection, reasoning_effort: str | None = None, retries: int = 2, **timeouts: float
) -> AsyncGenerator[OpenAIChatModel]:
    service = OpenAIService(*connections, timeouts=AnswerTimeouts(**timeouts), retries=RetryPolicy(retries))
    try:
        yield OpenAIChatModel(service, reasoning_effort)
    finally:
        await service.aclose()


def context(seconds: float = 30.0, *, status_in: float | None = None) -> RequestContext:
    now = asyncio.get_running_loop().time()
    return RequestContext("invocation-1", now + seconds, status_due=None if status_in is None else now + status_in)


async def ask(
    model: OpenAIChatModel,
    request: ModelRequest = QUESTION,
    *,
    seconds: float = 30.0,
    status_in: float | None = None,
) -> list[ModelEvent]:
    """What the model says; that it has begun, which changes with each answer, is left out."""
    async with aclosing(model.stream(request, context(seconds, status_in=status_in))) as events:
        return [event async for event in events if not isinstance(event, CompletionStarted)]


async def error_of[Error: SwitchboardError](
    model: OpenAIChatModel,
    kind: type[Error],
    *,
    request: ModelRequest = QUESTION,
    seconds: float = 30.0,
    status_in: float | None = None,
) -> Error:
    with pytest.raises(kind) as caught:
        await ask(model, request, seconds=seconds, status_in=status_in)
    assert type(caught.value) is kind
    return caught.value
