"""The app's settings: read once from the environment into one frozen object.

A field's name in capitals is the variable's name, but for what the platform has named. An empty variable counts as
unset. What is wrong raises `NotConfigured` with a sentence for each problem, so that `/health` and the start-up log can
name them all.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from shared.errors import NotConfigured


class Settings(BaseModel):
    """Every setting that the app reads. Times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    openai_base_url: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
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
    azure_openai_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
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
    chat_default_protocol: Literal[
        "ai-chat",
        "ai-chat-2024-05-29",
        "ai-chat-2024-01-28",
        "rag-chat",
        "semantic-kernel",
        "semantic-kernel-python",
    ] = Field(default="ai-chat", description="What a request on a bare route speaks when its body does not tell.")
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
    agents_concurrent_calls: int = Field(
        default=8, ge=1, le=100, description="How many model calls of one team run at the same time, at most."
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
    content_safety_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        description="Azure AI Content Safety, such as `https://contoso.cognitiveservices.azure.com`, for "
        "`RAI_BACKEND=content-safety`.",
    )
    content_safety_api_key: SecretStr | None = Field(
        default=None, description="Key of that resource. Absent: managed identity, or who is signed in locally."
    )
    auth_mode: Literal["none"] = Field(
        default="none", description="How callers sign in; this version knows only `none`."
    )
    history_backend: Literal["sqlite", "azure-table", "off"] = Field(
        default="sqlite",
        description="Where chats are kept: in a file in `DATA_DIR`, in Azure Table Storage, or nowhere.",
    )
    history_table_endpoint: str | None = Field(
        default=None,
        pattern=r"^https://\S+$",
        description="Address of the tables, such as `https://contoso.table.core.windows.net`, for the app's identity.",
    )
    azure_web_jobs_storage: SecretStr | None = Field(
        default=None,
        description="Connection string of the app's own storage account, which the platform reads too. With "
        "`HISTORY_BACKEND=azure-table` its tables keep the chats where there is no `HISTORY_TABLE_ENDPOINT`.",
    )
    data_dir: Path = Field(
        default=Path(".data"),
        description="Where the embedded stores live: the index with its documents, and the chat history.",
    )

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings from environment variables.

        Raises:
            NotConfigured: a value is not accepted, or a service is configured by half; names the variables.
        """
        values = {name: value for name in cls.model_fields if (value := environment.get(variable(name), "").strip())}
        try:
            settings = cls.model_validate(values)
        except ValidationError as invalid:
            problems = [
                f"{variable(field := str(error['loc'][0]))}: "
                f"{_PROBLEMS_OF.get(field) or _PROBLEMS.get(error['type'], error['msg'])}."
                for error in invalid.errors()
            ]
            raise NotConfigured(" ".join([*problems, *_unsupported(environment)])) from None
        problems = [*_half_configured(settings), *_unsupported(environment)]
        if problems:
            raise NotConfigured(" ".join(problems))
        return settings


_NOT_YET = ("AZURE_SEARCH_ENDPOINT",)
"""Settings of parts to come: to ignore one would be a silent fall-back to an embedded part."""


_PLATFORMS_OWN = {"azure_web_jobs_storage": "AzureWebJobsStorage"}
"""Variables that the Functions platform has named."""

_PROBLEMS = {
    "bool_parsing": "should be true or false",
    "float_parsing": "should be a number",
    "int_parsing": "should be a whole number",
    "string_pattern_mismatch": "should be a URL with its scheme, such as https://example.com",
}
"""What to do, by pydantic's type of error, where its own words do not say; the patterns are of URLs but for one."""

_PROBLEMS_OF = {"rai_endpoint": "should be https://… or host:port"}
"""The same for a field whose pattern is its own."""


def variable(field: str) -> str:
    """The environment variable of a field."""
    return _PLATFORMS_OWN.get(field, field.upper())


def _unsupported(environment: Mapping[str, str]) -> list[str]:
    return [
        f"{name} is set, and this version cannot use it yet: unset it." for name in _NOT_YET if environment.get(name)
    ]


def _half_configured(settings: Settings) -> list[str]:
    problems: list[str] = []
    openai = settings.openai_base_url or settings.openai_api_key
    azure = settings.azure_openai_endpoint
    if openai and azure:
        problems.append(
            "OPENAI_BASE_URL or OPENAI_API_KEY, and AZURE_OPENAI_ENDPOINT are set: unset one of the two services."
        )
    if openai and not settings.openai_chat_model:
        problems.append("OPENAI_CHAT_MODEL is missing: name the model that answers, such as gpt-4o-mini.")
    if azure and not settings.azure_openai_chat_deployment:
        problems.append("AZURE_OPENAI_CHAT_DEPLOYMENT is missing: name the deployment that answers.")
    if not openai and (settings.openai_chat_model or settings.openai_embedding_model):
        problems.append("OPENAI_API_KEY or OPENAI_BASE_URL is missing, though a model of OpenAI is named.")
    azure_parts = (
        settings.azure_openai_chat_deployment,
        settings.azure_openai_embedding_deployment,
        settings.azure_openai_api_key,
    )
    if not azure and any(azure_parts):
        problems.append("AZURE_OPENAI_ENDPOINT is missing, though a deployment or key of Azure OpenAI is set.")
    return [*problems, *_half_configured_history(settings), *_half_configured_safety(settings)]


def _half_configured_history(settings: Settings) -> list[str]:
    in_table = settings.history_backend == "azure-table"
    if in_table and not (settings.history_table_endpoint or settings.azure_web_jobs_storage):
        return ["HISTORY_TABLE_ENDPOINT is missing: name it, or set AzureWebJobsStorage to a connection string."]
    if settings.history_table_endpoint and not in_table:
        return ["HISTORY_TABLE_ENDPOINT is set: set HISTORY_BACKEND to azure-table, or unset it."]
    return []


def _half_configured_safety(settings: Settings) -> list[str]:
    checks = settings.rai_mode != "off"
    endpoint = settings.rai_endpoint
    problems: list[str] = []
    if checks and settings.rai_backend == "rai" and not endpoint:
        problems.append("RAI_ENDPOINT is missing: name the RAI service, or set RAI_MODE to off.")
    if settings.rai_backend == "content-safety" and not settings.content_safety_endpoint:
        problems.append("CONTENT_SAFETY_ENDPOINT is missing: name the resource, or set RAI_BACKEND to rai.")
    if settings.rai_backend == "rai" and settings.content_safety_endpoint:
        problems.append("CONTENT_SAFETY_ENDPOINT is set: set RAI_BACKEND to content-safety, or unset it.")
    if (
        endpoint
        and not endpoint.startswith("https://")
        and not settings.rai_allow_plaintext
        and not _loopback(endpoint.rpartition(":")[0].strip("[]"))
    ):
        problems.append(
            "RAI_ENDPOINT is another machine without TLS: use https://…, or set RAI_ALLOW_PLAINTEXT to true."
        )
    address = settings.content_safety_endpoint or ""
    if address.startswith("http://") and not _loopback(_host(address)):
        problems.append("CONTENT_SAFETY_ENDPOINT is another machine without TLS: use https://….")
    return problems


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
