"""The connection to Azure AI Search. Imports `azure.search.documents`: import it late."""

from collections.abc import Awaitable, Callable
from typing import Any

from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient
from pydantic import SecretStr

from shared.errors import SwitchboardError
from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.asking import OPTIONS, ask
from shared.outbound.azure_service.signing_in import close, credential_of
from shared.outbound.faults import Fault
from shared.retrieval.azure_search.faults import LOOK, READ, Right, error_of
from shared.settings import Settings

INGESTION_RETRIES = RetryPolicy(retries=5, longest_wait=60.0)
"""For ingestion, which nobody waits for at a screen."""


class SearchConnection:
    """A service with its clients, for one index.

    Args:
        endpoint: The service's URL.
        index: The index.
        key: The service's key; None: the app's identity.
        policy: How often to try, and after which waits.
        knowledge_base: The knowledge base; empty: none is asked.
        options: More for the SDK's clients.
    """

    def __init__(
        self,
        endpoint: str,
        index: str,
        key: SecretStr | None,
        policy: RetryPolicy | None = None,
        knowledge_base: str = "",
        **options: Any,  # noqa: ANN401 (the SDK's own)
    ) -> None:
        self.index = index
        self.knowledge_base = knowledge_base
        self.policy = policy or RetryPolicy()
        options = {**OPTIONS, **options}
        self._has_key = key is not None
        self._credential = credential_of(key)
        self._documents = SearchClient(endpoint, index, self._credential, **options)
        self._indexes = SearchIndexClient(endpoint, self._credential, **options)
        self._knowledge_base = KnowledgeBaseRetrievalClient(
            endpoint, self._credential, knowledge_base_name=knowledge_base, **options
        )

    @classmethod
    def from_settings(cls, settings: Settings, policy: RetryPolicy | None = None) -> "SearchConnection":
        """What the settings name; they have been checked to be complete."""
        return cls(
            (settings.azure_search_endpoint or "").rstrip("/"),
            settings.azure_search_index or "",
            settings.azure_search_api_key,
            policy,
            settings.azure_search_knowledge_base or "",
        )

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
        return await self._asked(lambda: call(self._documents), deadline, right, self._the_index)

    async def ask_indexes[Answer](
        self, call: Callable[[SearchIndexClient], Awaitable[Answer]], *, deadline: float, right: Right = LOOK
    ) -> Answer:
        """Ask about indexes, or create one; see `ask`."""
        return await self._asked(lambda: call(self._indexes), deadline, right, self._the_index)

    async def ask_knowledge_base[Answer](
        self, call: Callable[[KnowledgeBaseRetrievalClient], Awaitable[Answer]], *, deadline: float
    ) -> Answer:
        """Ask the knowledge base; see `ask`."""
        thing = f"knowledge base '{self.knowledge_base}' (AZURE_SEARCH_KNOWLEDGE_BASE)"
        return await self._asked(lambda: call(self._knowledge_base), deadline, READ, thing)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in (self._documents, self._indexes, self._knowledge_base):
            await client.close()
        await close(self._credential)

    @property
    def _the_index(self) -> str:
        return f"index '{self.index}' (AZURE_SEARCH_INDEX)"

    async def _asked[Answer](
        self, call: Callable[[], Awaitable[Answer]], deadline: float, right: Right, thing: str
    ) -> Answer:
        def to_error(fault: Fault) -> SwitchboardError:
            return error_of(fault, right, thing, has_key=self._has_key)

        return await ask(call, to_error, self.policy, deadline=deadline, service="Azure AI Search")
