"""Azure's AI services: Content Safety, Vision, Document Intelligence. Imports `azure.core`: import it late."""

from collections.abc import Awaitable, Callable, Mapping
from copy import replace
from typing import Any

from azure.core import AsyncPipelineClient
from azure.core.credentials import AzureKeyCredential
from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy, AzureKeyCredentialPolicy
from azure.core.rest import AsyncHttpResponse, HttpRequest
from pydantic import SecretStr

from shared.outbound.asking import RetryPolicy
from shared.outbound.azure_service import asking, signing_in, transport
from shared.outbound.faults import errors_of

_POLICY = RetryPolicy(retries=3, first_backoff=0.25)


class AIService:
    """One of the services.

    Args:
        name: The service's name, for sentences and the log.
        settings: The prefix of its settings: `…_ENDPOINT`, `…_API_KEY`.
        sent: What it is sent, and what to do where it does not accept that; for a sentence.
        policy: How often to try, and after which waits.
    """

    def __init__(self, name: str, settings: str, sent: str, policy: RetryPolicy = _POLICY) -> None:
        self._errors = replace(errors_of("azure ai"), name=name, address=f"{settings}_ENDPOINT")
        self._words = {"settings": settings, "sent": sent}
        self._policy = policy

    async def ask[Answer](
        self, call: Callable[[], Awaitable[Answer]], *, deadline: float, invocation_id: str | None = None
    ) -> Answer:
        """Make a call of an SDK as `asking.ask` does.

        Raises:
            BadRequest, Unavailable, RateLimited, TooSlow: there is no answer; says what to do.
        """
        return await asking.ask(
            call,
            lambda fault: self._errors.error(fault, **self._words),
            self._policy,
            deadline=deadline,
            service=self._errors.name,
            invocation_id=invocation_id,
        )


class AIClient:
    """The REST API of one resource, with its connections.

    Args:
        endpoint: URL of the resource.
        key: Its key; None: the app signs in with its identity.
        options: Further options of the SDK's client.
    """

    def __init__(self, endpoint: str, key: SecretStr | None, **options: Any) -> None:  # noqa: ANN401 (the SDK's own)
        self._endpoint = endpoint.rstrip("/")
        self._credential = credential = signing_in.credential_of(key)
        policies: list[Any] = []
        if isinstance(credential, AzureKeyCredential):
            policies.append(AzureKeyCredentialPolicy(credential, "Ocp-Apim-Subscription-Key"))
        else:
            policies.append(AsyncBearerTokenCredentialPolicy(credential, signing_in.AI_SERVICES))
        self._client: AsyncPipelineClient[HttpRequest, AsyncHttpResponse] = AsyncPipelineClient(
            self._endpoint, policies=policies, **transport.client_options(**options)
        )

    async def post(
        self, path: str, params: Mapping[str, str], content: bytes, content_type: str = "application/json"
    ) -> bytes:
        """Send something, and return the answer's body.

        Raises:
            HttpResponseError, and others of `azure.core`: there is none.
        """
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        request = HttpRequest("POST", f"{self._endpoint}/{path}", params=dict(params), headers=headers, content=content)
        response = await self._client.send_request(request)
        response.raise_for_status()
        return response.content

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await signing_in.close(self._credential)
