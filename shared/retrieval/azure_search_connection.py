"""The connection to Azure AI Search. Imports `azure.search.documents`: import it late."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import SystemRandom
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient
from pydantic import SecretStr

from shared.errors import NotConfigured
from shared.retrieval.azure_search_faults import LOOK, MAY_PASS, READ, Fault, Right, fault_of
from shared.settings import Settings

_log = logging.getLogger("switchboard.retrieval")

# One line a request at INFO says nothing that our own log lines do not.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)

_OPTIONS: Mapping[str, Any] = {
    "connection_timeout": 5,
    # The SDK's own retries would sleep past our deadline, and a redirect would take question and key elsewhere.
    "retry_total": 0,
    "permit_redirects": False,
}
"""For the SDK's clients; times in seconds."""

_WRONG = (AzureError, TimeoutError, AttributeError, LookupError, TypeError, ValueError)
"""What the SDK raises; see `azure_search_faults.BY_CLASS`."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for the service, in seconds."""

    retries: int = 2
    """How often a request is sent again."""
    first_backoff: float = 0.5
    """Before the first retry where the service names no time; doubled for each further one."""
    longest_wait: float = 20.0
    """The longest `Retry-After` to sit out; the caller decides about longer ones."""


PATIENT = Patience(retries=5, longest_wait=60.0)
"""For ingestion, which nobody waits for at a screen."""


class SearchConnection:
    """A service with its clients, for one index.

    Args:
        endpoint: The service's URL.
        index: The index.
        key: The service's key; None: the app's identity.
        patience: How long to wait.
        options: More for the SDK's clients.
    """

    def __init__(
        self,
        endpoint: str,
        index: str,
        key: SecretStr | None,
        patience: Patience | None = None,
        **options: Any,  # noqa: ANN401 (the SDK's own)
    ) -> None:
        self.index = index
        self._endpoint = endpoint
        self._options = {**_OPTIONS, **options}
        self.patience = patience or Patience()
        self._identity = None if key else _identity()
        self._credential = self._identity or AzureKeyCredential(key.get_secret_value() if key else "")
        self._documents: SearchClient | None = None
        self._indexes: SearchIndexClient | None = None
        self._knowledge_bases: dict[str, KnowledgeBaseRetrievalClient] = {}

    @classmethod
    def from_settings(cls, settings: Settings, patience: Patience | None = None) -> "SearchConnection":
        """What the settings name; they have been checked to be complete.

        Raises:
            NotConfigured: the URL is none; names the variable.
        """
        endpoint, key = settings.azure_search_endpoint or "", settings.azure_search_api_key
        if not _host(endpoint):
            raise NotConfigured("AZURE_SEARCH_ENDPOINT: should be a URL, such as https://contoso.search.windows.net.")
        if endpoint.startswith("http://") and not key:
            raise NotConfigured("AZURE_SEARCH_ENDPOINT: without AZURE_SEARCH_API_KEY it has to be https://….")
        return cls(endpoint.rstrip("/"), settings.azure_search_index or "", key, patience)

    @property
    def host(self) -> str:
        """Host and port, for people to read."""
        return _host(self._endpoint)

    async def ask[Answer](
        self, call: Callable[[SearchClient], Awaitable[Answer]], *, deadline: float, right: Right = READ
    ) -> Answer:
        """Ask for documents of the index, or write some.

        Args:
            call: What to ask; called again where a second try may help.
            deadline: When the answer must be there, on the event loop's clock, in seconds.
            right: What the app must be allowed to do for it.

        Raises:
            NotConfigured: the service refuses us, or has no such index.
            Unavailable, RateLimited, TooSlow: the service's faults.
        """
        if self._documents is None:
            self._documents = SearchClient(self._endpoint, self.index, self._credential, **self._options)
        client = self._documents
        return await self._asked(lambda: call(client), deadline, right, f"index '{self.index}' (AZURE_SEARCH_INDEX)")

    async def ask_indexes[Answer](
        self, call: Callable[[SearchIndexClient], Awaitable[Answer]], *, deadline: float, right: Right = LOOK
    ) -> Answer:
        """Ask about indexes, or create one; see `ask`."""
        if self._indexes is None:
            self._indexes = SearchIndexClient(self._endpoint, self._credential, **self._options)
        client = self._indexes
        return await self._asked(lambda: call(client), deadline, right, f"index '{self.index}' (AZURE_SEARCH_INDEX)")

    async def ask_knowledge_base[Answer](
        self, name: str, call: Callable[[KnowledgeBaseRetrievalClient], Awaitable[Answer]], *, deadline: float
    ) -> Answer:
        """Ask a knowledge base; see `ask`."""
        if name not in self._knowledge_bases:
            self._knowledge_bases[name] = KnowledgeBaseRetrievalClient(
                self._endpoint, self._credential, knowledge_base_name=name, **self._options
            )
        client = self._knowledge_bases[name]
        thing = f"knowledge base '{name}' (AZURE_SEARCH_KNOWLEDGE_BASE)"
        return await self._asked(lambda: call(client), deadline, READ, thing)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in (self._documents, self._indexes, *self._knowledge_bases.values(), self._identity):
            if client:
                await client.close()
        self._documents = self._indexes = None
        self._knowledge_bases.clear()

    async def _asked[Answer](
        self, call: Callable[[], Awaitable[Answer]], deadline: float, right: Right, thing: str
    ) -> Answer:
        attempt = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await call()
            except _WRONG as exc:
                fault = fault_of(exc)
                _log.warning("%s: %s (%s), status %s", self.host, fault.reason.name, type(exc).__name__, fault.status)
                wait = self._wait_before_retry(fault, attempt)
                if wait is None or asyncio.get_running_loop().time() + wait >= deadline:
                    # The service's own words may quote what was sent: a logged trace must not show them.
                    raise fault.to_error(right, thing, has_key=self._identity is None) from None
            await asyncio.sleep(wait)
            attempt += 1

    def _wait_before_retry(self, fault: Fault, attempt: int) -> float | None:
        """Seconds to wait before the next try; None where there should be none."""
        if fault.reason not in MAY_PASS or attempt >= self.patience.retries:
            return None
        if fault.retry_after is not None:
            return fault.retry_after if fault.retry_after <= self.patience.longest_wait else None
        # The jitter keeps those who were refused together from coming back together.
        return self.patience.first_backoff * 2**attempt * SystemRandom().uniform(0.75, 1.25)


def _identity() -> AsyncTokenCredential:
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()


def _host(endpoint: str) -> str:
    """Host and port, without a user or password that the URL may carry; empty if it is no URL."""
    try:
        address = urlsplit(endpoint)
        host, port = address.hostname or "", address.port
    except ValueError:
        return ""
    return f"{host}:{port}" if host and port else host
