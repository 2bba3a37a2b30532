"""The connection to Azure AI Search. Imports `azure.search.documents`: import it late."""

from collections.abc import Awaitable, Callable
from typing import Any

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient
from pydantic import SecretStr

from shared.azure_service.asking import OPTIONS, Patience, ask
from shared.azure_service.faults import Fault
from shared.errors import SwitchboardError
from shared.retrieval.azure_search_faults import LOOK, READ, Right, told
from shared.settings import Settings

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
        self._options = {**OPTIONS, **options}
        self.patience = patience or Patience()
        self._identity = None if key else _identity()
        self._credential = self._identity or AzureKeyCredential(key.get_secret_value() if key else "")
        self._documents: SearchClient | None = None
        self._indexes: SearchIndexClient | None = None
        self._knowledge_bases: dict[str, KnowledgeBaseRetrievalClient] = {}

    @classmethod
    def from_settings(cls, settings: Settings, patience: Patience | None = None) -> "SearchConnection":
        """What the settings name; they have been checked to be complete."""
        endpoint = (settings.azure_search_endpoint or "").rstrip("/")
        return cls(endpoint, settings.azure_search_index or "", settings.azure_search_api_key, patience)

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
        def error(fault: Fault) -> SwitchboardError:
            return told(fault, right, thing, has_key=self._identity is None)

        return await ask(call, deadline=deadline, patience=self.patience, told=error, service="Azure AI Search")


def _identity() -> AsyncTokenCredential:
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()
