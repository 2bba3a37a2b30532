"""The endpoints of models that the settings name, which of them to check when one fails, and time limits."""

from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec
from pydantic import SecretStr

from shared.errors import NotConfigured
from shared.settings import Settings
from shared.settings.fields import Address, split_keys

OPENAI_BASE_URL = "https://api.openai.com/v1"
THINKING_WITH_TOOLS = "reasoning_effort with tools"
"""Stands among the parameters that a model refuses for: it takes tools only with `reasoning_effort` set to `none`."""


class ServedModel(msgspec.Struct, frozen=True):
    """A model of the service."""

    name: str
    """The service's name for it; in Azure the deployment's."""
    setting: str
    """The setting that the name came from."""


class AnswerTimeouts(msgspec.Struct, frozen=True):
    """How long to wait for a model's service, in seconds."""

    connect: float = 5.0
    """For a connection."""
    between: float = 30.0
    """For each further piece of an answer. The first one has until the deadline of its request: some models are loaded
    first, some read long, and others think first."""
    ending: float = 5.0
    """For the last chunk after the finish reason, which has the token counts."""
    check: float = 3.0
    """For the answer to a health check."""


class OpenAIConnection(msgspec.Struct, frozen=True):
    """Where an endpoint of a service is and how to sign in to it. The key hides in `repr` and `str`."""

    kind: Literal["openai", "azure-openai", "openai-compatible"]
    """What `GET /health` calls it."""
    base_url: str
    """URL to which `/chat/completions` is appended."""
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
    weight: int = 0
    """Its share of new chats; 0: it gets a request only when others cannot answer, in the order of the settings."""

    @property
    def host(self) -> str:
        """Host and port, for people to read: without a user or password that the URL may carry."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else str(address.hostname)

    @property
    def proxy(self) -> str | None:
        """The proxy of the environment that requests go through; None: there is none, or not for this address."""
        address = urlsplit(self.base_url)
        host = address.hostname or ""
        is_here = host == "localhost" or host.startswith("127.") or host == "::1"
        return None if is_here or proxy_bypass(host) else getproxies().get(address.scheme)

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
        """Read the first endpoint from the settings; see `all_from_settings`."""
        return next(iter(cls.all_from_settings(settings)), None)

    @classmethod
    def all_from_settings(cls, settings: Settings) -> tuple["OpenAIConnection", ...]:
        """Read the endpoints from the settings, which have been checked to be complete; none where there is no service.

        Raises:
            NotConfigured: a URL is none; names the variable.
        """
        if endpoints := settings.azure_openai_endpoint:
            names = "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"
            chat = ServedModel(settings.azure_openai_chat_deployment or "", "AZURE_OPENAI_CHAT_DEPLOYMENT")
            vectors = _embedding(settings.azure_openai_embedding_deployment, "AZURE_OPENAI_EMBEDDING_DEPLOYMENT")
            endpoints = tuple(Address(f"{azure_resource(url)}/openai/v1/", weight) for url, weight in endpoints)
            return cls._at(endpoints, settings.azure_openai_api_key, names, chat, vectors, kind="azure-openai")
        if not (settings.openai_base_url or settings.openai_api_key):
            return ()
        names = "OPENAI_BASE_URL", "OPENAI_API_KEY"
        chat = ServedModel(settings.openai_chat_model or "", "OPENAI_CHAT_MODEL")
        vectors = _embedding(settings.openai_embedding_model, "OPENAI_EMBEDDING_MODEL")
        return cls._at(settings.openai_base_url, settings.openai_api_key, names, chat, vectors)

    @classmethod
    def for_embeddings(cls, settings: Settings) -> tuple["OpenAIConnection", ...]:
        """Read the endpoints that make vectors: their own, else those of the chat; none where no model is named.

        Raises:
            NotConfigured: a URL is none; names the variable.
        """
        if not settings.has_embedding_service:
            return tuple(one for one in cls.all_from_settings(settings) if one.embedding_model)
        names = "OPENAI_EMBEDDING_BASE_URL", "OPENAI_EMBEDDING_API_KEY"
        model = ServedModel(settings.openai_embedding_model or "", "OPENAI_EMBEDDING_MODEL")
        return cls._at(settings.openai_embedding_base_url, settings.openai_embedding_api_key, names, model, model)

    @classmethod
    def _at(
        cls,
        endpoints: Sequence[Address],
        key: SecretStr | None,
        names: tuple[str, str],
        chat_model: ServedModel,
        embedding_model: ServedModel | None,
        *,
        kind: Literal["azure-openai", "openai-compatible"] = "openai-compatible",
    ) -> tuple["OpenAIConnection", ...]:
        """A service at each of its endpoints, or at OpenAI's own, with one key for all or one for each."""
        endpoints = endpoints or (Address(OPENAI_BASE_URL),)
        for url, _ in endpoints:
            _check(url, names[0])
        keys = split_keys(key) if key and len(endpoints) > 1 else [key]
        return tuple(
            cls(
                "openai" if urlsplit(url).hostname == "api.openai.com" else kind,
                url,
                keys[number % len(keys)],
                *names,
                chat_model,
                embedding_model,
                weight,
            )
            for number, (url, weight) in enumerate(endpoints)
        )


def _embedding(name: str | None, setting: str) -> ServedModel | None:
    return ServedModel(name, setting) if name else None


def _check(url: str, setting: str) -> None:
    try:
        address = urlsplit(url)
        if address.hostname and address.port != 0:
            return
    except ValueError:
        pass
    raise NotConfigured(f"{setting} is no URL: it needs a host, such as https://example.com/v1.")


def azure_resource(endpoint: str) -> str:
    """The URL of a resource of Azure OpenAI, from that or from the base of its v1 API, which takes no api-version."""
    return endpoint.rstrip("/").removesuffix("/v1").removesuffix("/openai")
