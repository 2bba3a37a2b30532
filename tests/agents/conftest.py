from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Passage
from shared.retrieval.sqlite_index import SqliteIndex
from shared.retrieval.sqlite_retriever import SqliteRetriever
from tests.agents.teams import Office
from tests.stand_ins.openai_connected import connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

PASSAGES = (
    Passage("1", "The Standard plan pays 80 % of dental care.", "plan.pdf#page=3", "plan.pdf", "health"),
    Passage("2", "Dental implants are paid after two years.", "dental.md", "dental.md", "health"),
    Passage("3", "Vacation is 30 days a year.", "leave.md", "leave.md", "leave", oids=("me",), groups=("staff",)),
)


@pytest.fixture
async def retriever(tmp_path: Path) -> AsyncGenerator[SqliteRetriever]:
    index = SqliteIndex(tmp_path / "index.sqlite")
    for passage in PASSAGES:
        await index.replace(passage.sourcefile, "1", [passage], None)
    await index.aclose()
    retriever = SqliteRetriever(tmp_path / "index.sqlite", None)
    yield retriever
    await retriever.aclose()


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
