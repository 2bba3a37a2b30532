"""Builds the parts of the app from the settings: the only module that names concrete plug-ins.

Each is imported when it is chosen, so that a cold start pays for nothing that the settings did not ask for.
"""

import logging
import os
from collections.abc import Callable, Coroutine
from copy import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from shared.agents.definitions import Agents, load_agents
from shared.audit import Audit
from shared.budgets import Limits
from shared.budgets.ledger import Ledger
from shared.chat_models import ChatModel
from shared.documents import DocumentStore
from shared.errors import NotConfigured
from shared.guard import SafetyService
from shared.history import HistoryStore, NoHistory
from shared.identity import CallerTokens, Identity, NoIdentity
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.outbound.openai_service.service import OpenAIService
from shared.retrieval import Embedder, PassageIndex, Retriever
from shared.retrieval.filtered import OwnDocuments
from shared.runtime.features import absent, require
from shared.runtime.late_imports import Late
from shared.service import Service
from shared.settings import Settings
from shared.tools import ToolSource
from shared.verdicts import VerdictStore

if TYPE_CHECKING:
    from shared.guard.shields import Shields
    from shared.ingestion.document import Target
    from shared.reading.readers import TextRecognition
    from shared.retrieval.embedders.azure_vision import VisionEmbedder
    from shared.runs.answer_queue import AnswerQueue
    from shared.runs.registry import Runs
    from shared.telemetry.operation import Peer
    from shared.telemetry.otel import OtelTracing

_LOCAL_MODELS = "local.models"
"""What only a checkout has, as it has the packages with the models: a deployment holds nothing of `local`."""


def kept_folders(settings: Settings) -> tuple[Path, Path]:
    """Where documents and the images of their pages are kept if no storage is configured."""
    return settings.data_dir / "content", settings.data_dir / "pages"


def open_index(settings: Settings, embedder: Embedder | None = None) -> PassageIndex:
    """The index that ingestion writes, with the vectors of an embedder.

    Raises:
        NotConfigured: a setting of Azure AI Search is wrong.
    """
    if settings.azure_search_endpoint:
        from shared.retrieval.azure_search.connection import INGESTION_RETRIES, SearchConnection
        from shared.retrieval.azure_search.index import AzureSearchIndex
        from shared.retrieval.azure_search.schema import IndexPlan

        connection = SearchConnection.from_settings(settings, INGESTION_RETRIES)
        return AzureSearchIndex(connection, IndexPlan(settings))
    from shared.retrieval.sqlite.index import SqliteIndex

    return SqliteIndex(settings.data_dir / _INDEX_FILE, embedder.model if embedder else None)


def open_target(settings: Settings) -> "Target":
    """Where documents go that are ingested."""
    require("readers")
    from shared.ingestion.document import Target
    from shared.ingestion.page_images import PageImages
    from shared.reading.sandbox import sandbox_for_documents, sandbox_for_own_documents

    embedder = _embedder(settings, _openai_service(settings))
    return Target(
        open_index(settings, embedder),
        embedder,
        _documents(settings),
        PageImages(_pages(settings), _image_embedder(settings), wanted=settings.page_images),
        _text_recognition(settings),
        sandbox_for_documents(),
        sandbox_for_own_documents(),
    )


def build_service(settings: Settings) -> Service:
    """Choose and make the parts that the settings name."""
    from shared.reading.sandbox import sandbox_for_uploads

    if without := absent():
        _log.warning("deployed without %s: see DEPLOY_FEATURES in docs/deploy.md", ", ".join(without))
    if settings.page_file:
        from shared.playground.page_file import read_page

        read_page(settings.page_file)  # its faults are those of a setting
    read_agents = cache(lambda: load_agents(settings.agents_file or _SAMPLE_TEAM))
    agents = read_agents() if settings.agents_file or settings.chat_agent else None
    openai = _openai_service(settings)
    embedder = _embedder(settings, openai)
    tokens = CallerTokens() if agents and any(server.auth.on_behalf_of for server in agents.servers) else None
    history, verdicts = open_history(settings)
    tracing = _tracing(settings, openai)
    if tracing and embedder:
        embedder = tracing.embedder(embedder, _embedding_peer(settings, embedder.model))
    service = Service(
        settings,
        _chat_model(openai, settings),
        OwnDocuments(_retriever(settings, embedder)),
        history,
        read_agents,
        agents and agents.for_chat(settings.chat_agent),
        open_safety(settings),
        _identity(settings),
        Late(lambda: _documents(settings)),
        Late(lambda: _pages(settings)),
        sandbox_for_uploads(),
        ledger=_ledger(settings),
        tool_servers=_tool_servers(agents, settings, tokens),
        caller_tokens=tokens,
        verdicts=verdicts,
        audit=open_audit(settings),
        shields=_shields(settings),
        **_bot(settings),
    )
    return _traced(service, tracing) if tracing else service


def open_audit(settings: Settings) -> Audit | None:
    """Open the audit record; None if it is off."""
    if settings.audit == "off":
        return None
    from shared.audit.stores import open_store

    return Audit(open_store(settings), texts=settings.audit == "texts", required=settings.audit_on_error == "block")


def _bot(settings: Settings) -> dict[str, Any]:
    """The parts of a bot, by their names in the service; none if there is no bot."""
    if not settings.bot_id:
        return {}
    from shared.identity.bearer import BearerTokens
    from shared.identity.bot_tokens import BotTokens
    from shared.outbound.bot_connector import Connector

    users = BearerTokens(settings, for_bot=True)
    tokens = BotTokens(settings, users.keys, users.issuers, users.user if settings.bot_sso_resource else None)
    return {"bot_tokens": tokens, "connector": Connector(settings)}


def open_history(settings: Settings) -> tuple[HistoryStore, VerdictStore | None]:
    """Open what keeps chats, and what keeps the verdicts of their answers; None: no chats are kept."""
    if settings.history_backend == "off":
        return NoHistory(), None
    if settings.history_backend == "azure-table":
        from shared.history.azure_table import HistoryTable
        from shared.history.azure_table_history import AzureTableHistory
        from shared.verdicts.azure_table_verdicts import AzureTableVerdicts

        table = HistoryTable.of(settings.azure_web_jobs_storage, settings.azure_web_jobs_storage_tables)
        return AzureTableHistory(table), AzureTableVerdicts(table)
    from shared.history.sqlite_history import SqliteHistory
    from shared.verdicts.sqlite_verdicts import SqliteVerdicts

    folder = settings.data_dir
    return SqliteHistory(folder / "history.sqlite"), SqliteVerdicts(folder / "verdicts.sqlite")


_log = logging.getLogger("switchboard.start")
_INDEX_FILE = "index.sqlite"
_SAMPLE_TEAM = Path(__file__).parent.parent / "samples" / "agents.yaml"


def open_answers(settings: Settings) -> "AnswerQueue":
    """Open the queues of `CHAT_REQUESTS_QUEUE` and `CHAT_ANSWERS_QUEUE`.

    Raises:
        NotConfigured: they are not set.
    """
    from shared.runs.answer_queue import AnswerQueue
    from shared.runs.blob_objects import open_container
    from shared.runs.queue_engine import open_queue

    requests, name = settings.chat_requests_queue, settings.chat_answers_queue
    if requests is None or name is None:
        raise NotConfigured("CHAT_REQUESTS_QUEUE or CHAT_ANSWERS_QUEUE is missing.")
    return AnswerQueue(open_queue(settings, name), open_container(settings, name), open_queue(settings, requests))


def build_runs(service: Service) -> "tuple[Runs, Callable[[], Coroutine[Any, Any, NoReturn]] | None]":
    """Make the store and the engine of runs that the settings name.

    Returns:
        The runs, and what looks after them. None in Azure, where a timer does, and a rule of the storage account
        deletes old ones.
    """
    from shared.runs.in_process import InProcess
    from shared.runs.registry import Runs
    from shared.runs.running import Runner
    from shared.runs.upkeep import keep_up

    settings = service.settings
    answers = open_answers(settings) if settings.chat_requests_queue else None
    if settings.batches == "queue":
        from shared.runs.blob_objects import BlobObjects
        from shared.runs.queue_engine import QueueEngine

        runner = Runner(BlobObjects(settings), service, {}, answers)
        engine = QueueEngine(settings, InProcess(runner.run))
    else:
        from shared.runs.folder_objects import FolderObjects

        runner = Runner(FolderObjects(settings.data_dir / "batches"), service, {}, answers)
        engine = InProcess(runner.run)
    runs = Runs(runner, engine)
    is_elsewhere = settings.batches == "queue" and settings.in_azure
    return runs, None if is_elsewhere else partial(keep_up, runs)


def _tool_servers(agents: Agents | None, settings: Settings, tokens: CallerTokens | None) -> ToolSource | None:
    """The servers whose tools agents can have. The agents file names the settings with their keys."""
    if not agents or not agents.servers:
        return None
    from shared.tools.tool_servers import ToolServers

    folder = (settings.agents_file or _SAMPLE_TEAM).parent
    return ToolServers(agents.servers, folder, settings, os.environ, tokens)


def _openai_service(settings: Settings) -> OpenAIService | None:
    connections = OpenAIConnection.all_from_settings(settings)
    return OpenAIService(*connections) if connections else None


def _chat_model(openai: OpenAIService | None, settings: Settings) -> ChatModel:
    if openai is None:
        from shared.chat_models.extractive.model import ExtractiveModel

        return ExtractiveModel()
    from shared.budgets.model import CappedModel
    from shared.chat_models.openai_chat import OpenAIChatModel

    longest = settings.chat_max_tokens if "chat_max_tokens" in settings.model_fields_set else None
    as_json = {"auto": None, "text": False, "json": True}[settings.chat_answer_format]
    model = OpenAIChatModel(openai, settings.chat_reasoning_effort, settings.chat_source_tokens, longest, as_json)
    return CappedModel(model, settings.chat_max_tokens, settings.longest_prompt)


def _embedder(settings: Settings, openai: OpenAIService | None) -> Embedder | None:
    if settings.embeddings == "local":
        return cast("Embedder", import_module(_LOCAL_MODELS).LocalEmbedder())
    connections = OpenAIConnection.for_embeddings(settings)
    model = connections[0].embedding_model if connections else None
    if model is None:
        return None
    from shared.retrieval.embedders.openai_compatible import OpenAIEmbedder

    shares = openai and not settings.has_embedding_service
    return OpenAIEmbedder(openai if openai and shares else OpenAIService(*connections), model)


def _text_recognition(settings: Settings) -> "TextRecognition | None":
    if settings.ocr == "local":
        return cast("TextRecognition", import_module(_LOCAL_MODELS).LocalRecognition())
    if not (endpoint := settings.document_intelligence_endpoint):
        return None
    from shared.reading.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(endpoint, settings.document_intelligence_api_key)


def _image_embedder(settings: Settings) -> "VisionEmbedder | None":
    if not (endpoint := settings.azure_vision_endpoint):
        return None
    from shared.retrieval.embedders.azure_vision import VisionEmbedder

    return VisionEmbedder(endpoint, settings.azure_vision_api_key)


def _retriever(settings: Settings, embedder: Embedder | None) -> Retriever:
    """An index of Azure AI Search if one is configured, else the built-in index."""
    if settings.azure_search_endpoint:
        from shared.retrieval.azure_search.connection import SearchConnection
        from shared.retrieval.azure_search.retriever import AzureSearchRetriever

        connection = SearchConnection.from_settings(settings)
        return AzureSearchRetriever(connection, settings, embedder, _image_embedder(settings))
    from shared.retrieval.sqlite.retriever import SqliteRetriever

    return SqliteRetriever(settings.data_dir / _INDEX_FILE, embedder)


def open_safety(settings: Settings) -> SafetyService | None:
    """The safety service; built when it is configured even if `RAI_MODE` is off, for the companion function.

    Raises:
        NotConfigured: `RAI_ENDPOINT` or `RAI_POLICY` is wrong.
    """
    policy, timeout = settings.rai_policy, settings.rai_timeout_seconds
    if settings.rai_backend == "content-safety":
        from shared.guard.content_safety.service import ContentSafety
        from shared.guard.content_safety.severity_policy import read_severity_policy

        endpoint, key = settings.content_safety_endpoint or "", settings.content_safety_api_key
        return ContentSafety(endpoint, key, read_severity_policy(policy), timeout)
    if not settings.rai_endpoint:
        return None
    from shared.guard.rai.client import RaiService

    token = settings.rai_token.get_secret_value() if settings.rai_token else None
    blind = settings.rai_without_model == "allow"
    return RaiService(settings.rai_endpoint, policy, timeout, token=token, blind=blind)


def _shields(settings: Settings) -> "Shields | None":
    if settings.shields == "off":
        return None
    from shared.guard.content_safety.service import ContentSafety
    from shared.guard.content_safety.severity_policy import DEFAULT_POLICY
    from shared.guard.shields import Shields

    endpoint, timeout = settings.content_safety_endpoint or "", settings.rai_timeout_seconds
    service = ContentSafety(endpoint, settings.content_safety_api_key, DEFAULT_POLICY, timeout)
    annotates = settings.rai_mode == "annotate"
    allows = annotates or settings.rai_on_error == "allow"
    return Shields(service, timeout, enforced=not annotates, allows=allows)


def _identity(settings: Settings) -> Identity:
    match settings.auth_mode:
        case "none":
            return NoIdentity(settings)
        case "easy-auth":
            from shared.identity.easy_auth import EasyAuth

            return EasyAuth(settings.auth_tenant_id)
        case "bearer":
            from shared.identity.bearer import BearerTokens

            return BearerTokens(settings)
        case "api-key":
            from shared.identity.api_keys import ApiKeys

            return ApiKeys.from_settings(settings)


def _documents(settings: Settings) -> DocumentStore:
    """Where the documents are that answers cite."""
    return _store(settings, settings.content_container, kept_folders(settings)[0])


def _pages(settings: Settings) -> DocumentStore:
    """Where the images of their pages are."""
    return _store(settings, f"{settings.content_container}-pages", kept_folders(settings)[1])


def _store(settings: Settings, container: str, folder: Path) -> DocumentStore:
    """A container if storage is configured, else a folder."""
    if not settings.has_container:
        from shared.documents.file_store import FileStore

        return FileStore(folder)
    from shared.documents.blob_store import BlobStore

    return BlobStore.of(settings.content_storage, container, settings.content_storage_blobs)


def _ledger(settings: Settings) -> Ledger | None:
    """What counts requests and tokens; with a table what is used at all instances."""
    if not settings.has_limits:
        return None
    ledger = Ledger(
        Limits(settings.limit_caller_requests_per_minute, settings.limit_caller_tokens_per_day),
        Limits(settings.limit_requests_per_minute, settings.limit_tokens_per_day),
    )
    if settings.limit_backend == "azure-table":
        from shared.budgets.shared_counts import SharedCounts

        SharedCounts(settings.azure_web_jobs_storage, ledger, settings.azure_web_jobs_storage_tables)
    return ledger


def _tracing(settings: Settings, openai: OpenAIService | None) -> "OtelTracing | None":
    if not (settings.applicationinsights_connection_string or settings.otel_exporter_otlp_endpoint):
        return None
    from shared.telemetry.operation import Peer
    from shared.telemetry.otel import OtelTracing

    model = _peer(openai.connection, openai.connection.chat_model.name) if openai else Peer("switchboard", "extractive")
    return OtelTracing.from_settings(settings, model)


def _peer(connection: OpenAIConnection, model: str) -> "Peer":
    from shared.telemetry.operation import Peer

    return Peer("azure.ai.openai" if connection.kind == "azure-openai" else "openai", model, connection.base_url)


def _embedding_peer(settings: Settings, model: str) -> "Peer":
    from shared.telemetry.operation import Peer

    connections = OpenAIConnection.for_embeddings(settings)
    return _peer(connections[0], model) if connections else Peer("switchboard", model)


def _traced(service: Service, tracing: "OtelTracing") -> Service:
    """Wrap the parts of the service that traces record, with the names and addresses that spans show."""
    from shared.telemetry.operation import Peer

    settings = service.settings
    index = settings.azure_search_index or "embedded"
    address = settings.rai_endpoint if settings.rai_backend == "rai" else settings.content_safety_endpoint
    if address and "://" not in address:
        address = f"grpc://{address}"
    return replace(
        service,
        model=tracing.model(service.model),
        retriever=tracing.retriever(service.retriever, Peer("", index, settings.azure_search_endpoint)),
        safety=tracing.safety(service.safety, Peer("", settings.rai_backend, address)) if service.safety else None,
        tracing=tracing,
    )
