"""The app's settings: read once from the environment into one frozen object.

A field's name in capitals is the variable's name, but for what the platform has named. An empty variable counts as
unset. What is wrong raises `NotConfigured` with a sentence for each problem, so that `/health` and the start-up log can
name them all.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from shared.errors import NotConfigured
from shared.settings_rules import half_configured

type _Url = Annotated[str, Field(pattern=r"^https?://\S+$")]
type _Uuid = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
type _StorageName = Annotated[str, Field(pattern=r"^[a-z0-9](-?[a-z0-9]){2,56}$")]


def _read_names(value: object) -> object:
    """`a=b, c=d` as a mapping; anything else as it is."""
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
    return {name.strip(): called.strip() for name, _, called in pairs}


class Settings(BaseModel):
    """Every setting that the app reads. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    openai_base_url: _Url | None = Field(
        default=None,
        description="Base URL of an OpenAI-compatible service, such as `http://localhost:11434/v1` for Ollama. "
        "Absent: `https://api.openai.com/v1`, if there is an `OPENAI_API_KEY`.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None, description="Key of that service; a local one may need none."
    )
    openai_chat_model: str | None = Field(
        default=None, description="The model that answers, by the service's name for it."
    )
    openai_embedding_model: str | None = Field(
        default=None, description="The model that makes vectors. Absent: no vector search."
    )
    azure_openai_endpoint: _Url | None = Field(
        default=None,
        description="Azure OpenAI resource, such as `https://contoso.openai.azure.com`.",
    )
    azure_openai_chat_deployment: str | None = Field(default=None, description="The deployment that answers.")
    azure_openai_embedding_deployment: str | None = Field(
        default=None, description="The deployment that makes vectors. Absent: no vector search."
    )
    azure_openai_api_key: SecretStr | None = Field(
        default=None,
        description="Key of the resource. Absent: managed identity, or who is signed in locally.",
    )
    chat_default_protocol: str = Field(
        default="ai-chat",
        description="The protocol of a request on a bare route whose body selects none.",
    )
    chat_vision: bool = Field(
        default=True,
        description="Whether the model sees images. False: requests with images are refused with a sentence.",
    )
    chat_deadline_seconds: float = Field(
        default=210,
        gt=0,
        le=1800,
        description="How long an answer may take. Azure cuts an HTTP response that stays idle for 230 seconds.",
    )
    chat_reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None,
        description="How long a reasoning model may think. Absent: as the model does by itself.",
    )
    chat_agent: str | None = Field(
        default=None, description="The agent of `AGENTS_FILE` that answers single chat. Absent: the model itself does."
    )
    agents_file: Path | None = Field(
        default=None, description="The team of agents, as YAML. Absent: the sample team, `samples/agents.yaml`."
    )
    agents_deadline_seconds: float = Field(
        default=25,
        gt=0,
        le=1800,
        description="How long a team's answer may take. ChatUI gives up after 30 seconds.",
    )
    rai_mode: Literal["off", "annotate", "enforce"] = Field(
        default="off",
        description="Safety checks: none; results are reported and nothing is held back; or only what was cleared "
        "goes out.",
    )
    rai_backend: Literal["rai", "content-safety"] = Field(
        default="rai", description="What checks: the RAI service, or Azure AI Content Safety."
    )
    rai_endpoint: str | None = Field(
        default=None,
        pattern=r"^(https://\S+|[^\s/:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5})$",
        description="The RAI service: `https://…` for TLS with the app's identity, or `host:port` without TLS.",
    )
    rai_allow_plaintext: bool = Field(
        default=False,
        description="Whether a `host:port` may be another machine's: what is said then goes there in the clear.",
    )
    rai_policy: str = Field(
        default="default",
        description="What is looked for: the name of a policy of the RAI service (Azure AI Content Safety knows "
        "`default`), or the path of a JSON file (ending in `.json`) with one.",
    )
    rai_on_error: Literal["block", "allow"] | None = Field(
        default=None,
        description="What a safety service means that cannot be reached, is silent or makes no sense. Absent: `block` "
        "with `RAI_MODE=enforce`; with `annotate` nothing is ever blocked.",
    )
    rai_timeout_seconds: float = Field(
        default=10, gt=0, le=120, description="How long the safety service may be silent when an answer of it is due."
    )
    content_safety_endpoint: _Url | None = Field(
        default=None,
        description="Azure AI Content Safety, such as `https://contoso.cognitiveservices.azure.com`, for "
        "`RAI_BACKEND=content-safety`.",
    )
    content_safety_api_key: SecretStr | None = Field(
        default=None, description="Key of that resource. Absent: managed identity, or who is signed in locally."
    )
    azure_search_endpoint: _Url | None = Field(
        default=None,
        description="Azure AI Search, such as `https://contoso.search.windows.net`. Absent: the built-in index.",
    )
    azure_search_index: str | None = Field(default=None, description="The index that is searched, and written to.")
    azure_search_api_key: SecretStr | None = Field(
        default=None,
        description="Key of the service: a query key is enough to search, an admin key writes too. Absent: managed "
        "identity, or who is signed in locally.",
    )
    azure_search_fields: Annotated[Mapping[str, str], BeforeValidator(_read_names)] = Field(
        default_factory=dict[str, str],
        description="What the index calls its fields where it is not as azure-search-openai-demo does: "
        "`content=chunk, sourcepage=title`.",
    )
    azure_search_semantic_configuration: str | None = Field(
        default=None, description="The index's semantic configuration. Absent: its default one."
    )
    azure_search_vectorizer: bool = Field(
        default=False,
        description="Whether the index makes the vector of a query itself, instead of the embedding model here, which "
        "makes those of passages all the same.",
    )
    azure_search_knowledge_base: str | None = Field(
        default=None, description="A knowledge base of the service, which does the searches (agentic retrieval)."
    )
    azure_search_knowledge_source: str | None = Field(
        default=None, description="That base's knowledge source that is the index. Absent: called like the index."
    )
    azure_vision_endpoint: _Url | None = Field(
        default=None,
        description="Azure AI Vision, which makes vectors of page images (`PAGE_IMAGES`) for Azure AI Search. Absent: "
        "images are not searched.",
    )
    azure_vision_api_key: SecretStr | None = Field(
        default=None, description="Key of that resource. Absent: managed identity, or who is signed in locally."
    )
    document_intelligence_endpoint: _Url | None = Field(
        default=None,
        description="Azure AI Document Intelligence, which reads scanned pages. Absent: they hold no text.",
    )
    document_intelligence_api_key: SecretStr | None = Field(
        default=None, description="Key of that resource. Absent: managed identity, or who is signed in locally."
    )
    page_images: bool = Field(
        default=False,
        description="Whether ingestion keeps an image of each page of a PDF, for models that see (`use_gpt4v`).",
    )
    content_storage: SecretStr | None = Field(
        default=None,
        description="Connection string of the storage account that keeps the documents, such as Azurite's. Absent, "
        "with `CONTENT_STORAGE__blobServiceUri` too: they are kept in `DATA_DIR`.",
    )
    content_storage_blobs: _Url | None = Field(
        default=None,
        description="Address of that account's blobs, such as `https://contoso.blob.core.windows.net`, for the app's "
        "identity.",
    )
    content_storage_queues: _Url | None = Field(
        default=None,
        description="Address of that account's queues, for the trigger that reads `CONTENT_EVENTS_QUEUE`. Absent, "
        "with `CONTENT_STORAGE` too: nothing is watched.",
    )
    content_container: _StorageName = Field(
        default="content",
        description="The container of the documents. Images of their pages are in another, `…-pages`.",
    )
    content_trigger: Literal["event-queue", "blob"] = Field(
        default="event-queue",
        description="What tells of documents that come and go: Event Grid's events in a queue, or a blob trigger, "
        "which is told of those that come only.",
    )
    content_events_queue: _StorageName = Field(
        default="content-events",
        description="The queue that Event Grid writes the container's events to.",
    )
    auth_mode: Literal["none", "easy-auth", "bearer"] = Field(
        default="none",
        description="How callers sign in: not at all; by App Service Authentication in front of the app; or with an "
        "Entra ID token that the app checks.",
    )
    auth_tenant_id: _Uuid | None = Field(
        default=None, description="The tenant whose tokens `bearer` takes; `easy-auth` checks it if set."
    )
    auth_client_id: _Uuid | None = Field(
        default=None, description="The app registration that the tokens of `bearer` have to be for."
    )
    auth_authority: _Url = Field(
        default="https://login.microsoftonline.com",
        description="Where the tenant's signing keys are; another one in national clouds.",
    )
    website_auth_enabled: bool = Field(
        default=False, description="Set by the platform where App Service Authentication is in front of the app."
    )
    access_control: Literal["on-request", "enforced"] = Field(
        default="on-request",
        description="Whether callers see only the documents that name them or one of their groups: where a request "
        "asks for it with a security filter, or always, which takes an `AUTH_MODE` in which callers sign in.",
    )
    access_control_open_documents: bool = Field(
        default=False,
        description="With `enforced`: whether documents that name nobody, or `all`, are for all who are signed in.",
    )
    telemetry_content: bool = Field(
        default=False, description="Whether traces, to either of the receivers below, carry questions and answers."
    )
    applicationinsights_connection_string: SecretStr | None = Field(
        default=None,
        description="Application Insights, for traces. Absent, with `OTEL_EXPORTER_OTLP_ENDPOINT` too: there are none.",
    )
    applicationinsights_authentication_string: str | None = Field(
        default=None,
        description="`Authorization=AAD`, with `;ClientId=…` for a user-assigned identity: sign in to Application "
        "Insights with the app's identity.",
    )
    otel_exporter_otlp_endpoint: _Url | None = Field(
        default=None,
        description="Any OpenTelemetry collector, such as `http://localhost:4318`, for traces.",
    )
    history_backend: Literal["sqlite", "azure-table", "off"] = Field(
        default="sqlite",
        description="Where chats are kept: in a file in `DATA_DIR`, in Azure Table Storage, or nowhere.",
    )
    history_table_endpoint: str | None = Field(
        default=None,
        pattern=r"^https://\S+$",
        description="Address of the tables, such as `https://contoso.table.core.windows.net`, for the app's identity. "
        "With `HISTORY_BACKEND=azure-table`.",
    )
    azure_web_jobs_storage: SecretStr | None = Field(
        default=None,
        description="Connection string of the app's own storage account, which the platform reads too. With "
        "`HISTORY_BACKEND=azure-table` its tables keep the chats where there is no `HISTORY_TABLE_ENDPOINT`.",
    )
    data_dir: Path = Field(
        default=Path(".data"),
        description="Where the built-in stores live: the index with its documents, and the chat history.",
    )

    @property
    def has_container(self) -> bool:
        """Whether the documents are in a container, and not in `DATA_DIR`."""
        return bool(self.content_storage or self.content_storage_blobs)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings from environment variables.

        Raises:
            NotConfigured: a value is not accepted, or a service is configured by half; names the variables.
        """
        if removed := [name for name in REMOVED if environment.get(name, "").strip()]:
            raise NotConfigured(" ".join(f"{name} is no longer a setting: {REMOVED[name]}." for name in removed))
        values = {name: value for name in cls.model_fields if (value := environment.get(variable(name), "").strip())}
        try:
            settings = cls.model_validate(values)
        except ValidationError as invalid:
            problems = [
                f"{variable(field := str(error['loc'][0]))}: "
                f"{_PROBLEMS_OF.get(field) or _PROBLEMS.get(error['type'], error['msg'].removeprefix('Input '))}."
                for error in invalid.errors()
            ]
            raise NotConfigured(" ".join(problems)) from None
        if problems := half_configured(settings):
            raise NotConfigured(" ".join(problems))
        return settings


REMOVED = {
    "AGENTS_CONCURRENT_CALLS": "unset it. A team makes at most 8 model calls at the same time",
}
"""Settings of earlier versions, and what to do instead."""

_PLATFORMS_OWN = {
    "azure_web_jobs_storage": "AzureWebJobsStorage",
    "content_storage_blobs": "CONTENT_STORAGE__blobServiceUri",
    "content_storage_queues": "CONTENT_STORAGE__queueServiceUri",
}
"""Variables that the Functions platform has named; the triggers read them too."""

_PROBLEMS = {
    "bool_parsing": "should be true or false",
    "float_parsing": "should be a number",
    "string_pattern_mismatch": "should be a URL with its scheme, such as https://example.com",
}
"""What to do, by pydantic's type of error, where its own words do not say; most patterns are of URLs."""

_PROBLEMS_OF = {
    "rai_endpoint": "should be https://… or host:port",
    "auth_tenant_id": "should be a UUID",
    "auth_client_id": "should be a UUID",
    "content_container": "should be a container's name: 3 to 57 lower-case letters, digits and single hyphens",
    "content_events_queue": "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
}
"""The same for fields whose patterns are their own."""


def variable(field: str) -> str:
    """The environment variable of a field."""
    return _PLATFORMS_OWN.get(field, field.upper())
