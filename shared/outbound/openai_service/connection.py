"""The OpenAI-compatible service that the settings name, which of them to check when it fails, and its time limits."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from shared.errors import NotConfigured
from shared.settings import Settings

OPENAI_BASE_URL = "https://api.openai.com/v1"
THINKING_WITH_TOOLS = "reasoning_effort with tools"
"""Stands among the parameters that a model refuses for: it takes tools only with `reasoning_effort` set to `none`."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of the service."""

    name: str
    """The service's name for it; in Azure the deployment's."""
    setting: str
    """The setting that the name came from."""


@dataclass(frozen=True, slots=True)
class AnswerTimeouts:
    """How long to wait for a model's service, in seconds."""

    connect: float = 5.0
    """For a connection."""
    first: float = 120.0
    """For the first piece of an answer: some models are loaded first, others think first."""
    between: float = 30.0
    """For each further piece."""
    ending: float = 5.0
    """For what may follow the finish reason: the usage."""
    check: float = 3.0
    """For the answer to a health check."""


@dataclass(frozen=True, slots=True)
class OpenAIConnection:
    """Where an OpenAI-compatible service is and how to sign in to it. The key hides in `repr` and `str`."""

    kind: Literal["openai", "azure-openai", "openai-compatible"]
    """What `GET /health` calls it."""
    base_url: str
    """What `/chat/completions` is appended to."""
    api_key: SecretStr | None
    """None: a token of the app's identity in Azure, and nothing at all elsewhere."""
    address_setting: str
    """The setting to check when the service cannot be reached."""
    key_setting: str
    """The setting to check when it refuses the key."""
    chat_model: ServedModel
    """The model that answers."""
    embedding_model: ServedModel | None = None
    """The model that makes vectors; None: no vector search."""

    @property
    def host(self) -> str:
        """Host and port, for people to read: without a user or password that the URL may carry."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else str(address.hostname)

    @property
    def uses_identity(self) -> bool:
        """Whether requests carry a token of the app's identity instead of a key."""
        return self.kind == "azure-openai" and self.api_key is None

    @property
    def credential_advice(self) -> str:
        """What to check when the service refuses the credentials."""
        if self.uses_identity:
            return f"that the app's identity has the role 'Cognitive Services OpenAI User' on {self.address_setting}"
        return self.key_setting

    @classmethod
    def from_settings(cls, settings: Settings) -> "OpenAIConnection | None":
        """Read the service from the settings, which have been checked to be complete; None where there is none.

        Raises:
            NotConfigured: its URL is none; names the variable.
        """
        if settings.azure_openai_endpoint:
            return cls(
                kind="azure-openai",
                base_url=_azure_base_url(_checked(settings.azure_openai_endpoint, "AZURE_OPENAI_ENDPOINT")),
                api_key=settings.azure_openai_api_key,
                address_setting="AZURE_OPENAI_ENDPOINT",
                key_setting="AZURE_OPENAI_API_KEY",
                chat_model=ServedModel(settings.azure_openai_chat_deployment or "", "AZURE_OPENAI_CHAT_DEPLOYMENT"),
                embedding_model=_embedding(
                    settings.azure_openai_embedding_deployment, "AZURE_OPENAI_EMBEDDING_DEPLOYMENT"
                ),
            )
        if not (settings.openai_base_url or settings.openai_api_key):
            return None
        base_url = _checked(settings.openai_base_url or OPENAI_BASE_URL, "OPENAI_BASE_URL")
        return cls(
            kind="openai" if urlsplit(base_url).hostname == "api.openai.com" else "openai-compatible",
            base_url=base_url,
            api_key=settings.openai_api_key,
            address_setting="OPENAI_BASE_URL",
            key_setting="OPENAI_API_KEY",
            chat_model=ServedModel(settings.openai_chat_model or "", "OPENAI_CHAT_MODEL"),
            embedding_model=_embedding(settings.openai_embedding_model, "OPENAI_EMBEDDING_MODEL"),
        )


def _embedding(name: str | None, setting: str) -> ServedModel | None:
    return ServedModel(name, setting) if name else None


def _checked(url: str, setting: str) -> str:
    try:
        address = urlsplit(url)
        if address.hostname and address.port != 0:
            return url
    except ValueError:
        pass
    raise NotConfigured(f"{setting} is no URL: it needs a host, such as https://example.com/v1.")


def _azure_base_url(endpoint: str) -> str:
    """The base of Azure OpenAI's v1 API, which takes no api-version."""
    return f"{azure_resource(endpoint)}/openai/v1/"


def azure_resource(endpoint: str) -> str:
    """The URL of a resource of Azure OpenAI, from that or from the base of its v1 API."""
    return endpoint.rstrip("/").removesuffix("/v1").removesuffix("/openai")
