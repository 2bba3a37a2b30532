from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.chat_models.openai_chat import OpenAIChatModel
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.agents.teams import Office
from tests.small_index import small_index
from tests.stand_ins.openai_connected import connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn


@pytest.fixture
async def retriever(tmp_path: Path) -> AsyncGenerator[SqliteRetriever]:
    async with small_index(tmp_path) as retriever:
        yield retriever


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@pytest.fixture
async def model(service: OpenAIStandIn) -> AsyncGenerator[OpenAIChatModel]:
    async with model_of(connection_to(service), retries=0) as model:
        yield model


@pytest.fixture
def office(service: OpenAIStandIn, model: OpenAIChatModel, retriever: SqliteRetriever) -> Office:
    return Office(service, model, retriever)
