"""Traces that nobody reads cost nothing: there is nothing around the parts of the app, nor around its turns."""

import asyncio
from pathlib import Path
from types import AsyncGeneratorType

from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import ChatRequest, Message, RequestContext, Role
from shared.core.turn import run_turn
from shared.parts import build_service
from shared.retrieval.filtered import OwnDocuments
from shared.settings import Settings
from shared.telemetry.parts import TracedModel, TracedRetriever
from shared.turns.begin import turn_events


async def test_off_the_parts_and_the_turns_are_bare(tmp_path: Path) -> None:
    service = build_service(Settings.read({"DATA_DIR": str(tmp_path), "HISTORY_BACKEND": "off"}))
    request = ChatRequest((Message(Role.USER, "Hello?"),))
    turn = turn_events(service, request, RequestContext("id-1", asyncio.get_running_loop().time() + 30))
    assert type(service.model) is ExtractiveModel
    assert type(service.retriever) is OwnDocuments
    assert isinstance(turn, AsyncGeneratorType)
    assert turn.ag_code is run_turn.__code__
    await turn.aclose()


def test_on_the_parts_are_watched(tmp_path: Path) -> None:
    settings = {"DATA_DIR": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    service = build_service(Settings.read(settings))
    assert type(service.model) is TracedModel
    assert type(service.retriever) is TracedRetriever
