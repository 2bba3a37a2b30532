"""The connection to Azure AI Search, and the errors of its faults. Imports `azure.search.documents`: import it late."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.knowledgebases.aio import KnowledgeBaseRetrievalClient
from pydantic import SecretStr

from shared.errors import NotConfigured, SwitchboardError
from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service.asking import OPTIONS, ask
from shared.outbound.azure_service.signing_in import close, credential_of
from shared.outbound.faults import ErrorTable, Fault, Reason
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Right:
    """A right that the app needs."""

    role: str
    """The role for its identity."""
    key: str
    """The kind of key where it has one."""


READ = Right("Search Index Data Reader", "a key")
WRITE = Right("Search Index Data Contributor", "an admin key")
LOOK = Right("Reader", "an admin key")
"""To look at the definition of an index, which is nothing of its documents."""
MANAGE = Right("Search Service Contributor", "an admin key")


ERRORS = ErrorTable(
    "Azure AI Search",
    "AZURE_SEARCH_ENDPOINT and the network",
    {
        Reason.NO_IDENTITY: (
            "The app cannot sign in to {name}: give it a managed identity, sign in with `az login` locally, or set "
            "AZURE_SEARCH_API_KEY."
        ),
        Reason.CREDENTIALS: "{name} refused this app: {credential_advice}.",
        Reason.NOT_THERE: "{name} has no {thing}.",
        Reason.NOT_AN_ANSWER: (
            "What is at AZURE_SEARCH_ENDPOINT sent something that is no answer of {name}: check it."
        ),
        Reason.NOT_ACCEPTED: (
            "{name} does not accept what it was asked: check that AZURE_SEARCH_INDEX has the fields that "
            "AZURE_SEARCH_FIELDS names and vectors of the embedding model that is configured here, and check "
            "AZURE_SEARCH_SEMANTIC_CONFIGURATION and AZURE_SEARCH_KNOWLEDGE_SOURCE."
        ),
        Reason.BUSY: "{name} has too much to do. Try again later; if it stays, add replicas.",
    },
    dict.fromkeys((Reason.NO_IDENTITY, Reason.CREDENTIALS, Reason.NOT_THERE, Reason.NOT_ACCEPTED), NotConfigured),
)
"""What differs from `outbound.faults.DEFAULTS`."""


def error_of(fault: Fault, right: Right, thing: str, *, has_key: bool) -> SwitchboardError:
    """Make the error that the caller gets.

    Args:
        fault: What went wrong.
        right: The right that the app needs for what it asked.
        thing: What was asked for, where the service may not have it.
        has_key: Whether the app comes with a key, or else as its identity.
    """
    advice = (
        f"set AZURE_SEARCH_API_KEY to {right.key} of the service"
        if has_key
        else f"give its identity the role '{right.role}', and turn on role-based access control for the service"
    )
    return ERRORS.error(fault, credential_advice=advice, thing=thing)


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
