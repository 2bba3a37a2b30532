"""Connection to Azure AI Search, and the messages of its errors. Imports `azure.search.documents`: import it late."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from pydantic import SecretStr

from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service import asking, signing_in, transport
from shared.outbound.faults import errors_of
from shared.settings import Settings


class Right(msgspec.Struct, frozen=True):
    """A right on the search service that a request needs."""

    role: str
    """The role that grants the right to the app's identity."""
    key: str
    """The kind of key that grants the right to an app with a key."""


READ = Right("Search Index Data Reader", "a key")
WRITE = Right("Search Index Data Contributor", "an admin key")
LOOK = Right("Reader", "an admin key")
"""Reads the definition of an index, not its documents."""
MANAGE = Right("Search Service Contributor", "an admin key")


ERRORS = errors_of("search")

INGESTION_RETRIES = RetryPolicy(retries=5, longest_wait=60.0)
"""Retries of ingestion, which may take longer than a search: no user waits for it."""


class SearchConnection:
    """The SDK's clients for one service and one index.

    Args:
        endpoint: The service's URL.
        index: The index's name.
        key: The service's key; None: the app's identity.
        policy: Number of retries, and the waits before them; None: the default.
        options: Further options of the SDK's clients.
    """

    def __init__(
        self,
        endpoint: str,
        index: str,
        key: SecretStr | None,
        policy: RetryPolicy | None = None,
        **options: Any,  # noqa: ANN401 (the SDK's own)
    ) -> None:
        self.index = index
        self.policy = policy or RetryPolicy()
        self._has_key = key is not None
        self._credential = signing_in.credential_of(key)
        self._documents = SearchClient(endpoint, index, self._credential, **transport.client_options(**options))
        self._indexes = SearchIndexClient(endpoint, self._credential, **transport.client_options(**options))

    @classmethod
    def from_settings(cls, settings: Settings, policy: RetryPolicy | None = None) -> "SearchConnection":
        """Connect to the service that the settings name. The settings were checked to be complete."""
        return cls(
            (settings.azure_search_endpoint or "").rstrip("/"),
            settings.azure_search_index or "",
            settings.azure_search_api_key,
            policy,
        )

    async def ask[Answer](
        self, call: Callable[[SearchClient], Awaitable[Answer]], *, deadline: float, right: Right = READ
    ) -> Answer:
        """Send a request for documents of the index: search, count or write them.

        Args:
            call: Sends the request; called again for each retry.
            deadline: Time by which the answer must be there, in seconds on the event loop's clock.
            right: The right that the request needs.

        Raises:
            NotConfigured: the service refuses the app, or has no such index.
            Unavailable, RateLimited, TooSlow: the service failed.
        """
        return await self._ask(lambda: call(self._documents), deadline, right)

    async def ask_indexes[Answer](
        self, call: Callable[[SearchIndexClient], Awaitable[Answer]], *, deadline: float, right: Right = LOOK
    ) -> Answer:
        """Send a request for the definition of an index: read or create it; see `ask`."""
        return await self._ask(lambda: call(self._indexes), deadline, right)

    async def aclose(self) -> None:
        """Close the connections."""
        for client in (self._documents, self._indexes):
            await client.close()
        await signing_in.close(self._credential)

    async def _ask[Answer](self, call: Callable[[], Awaitable[Answer]], deadline: float, right: Right) -> Answer:
        advice = (
            f"set AZURE_SEARCH_API_KEY to {right.key} of the service"
            if self._has_key
            else f"give its identity the role '{right.role}', and turn on role-based access control for the service"
        )
        to_error = partial(ERRORS.error, credential_advice=advice, index=self.index)
        return await asking.ask(call, to_error, self.policy, deadline=deadline, service="Azure AI Search")
