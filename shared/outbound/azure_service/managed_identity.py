"""Tokens of the app's managed identity, as App Service and Functions give them. Imports `azure.core`: import it late.

It takes the place of `azure.identity` there, whose import is a tenth of a start in Azure.

Source: Microsoft, 'How to use managed identities for App Service and Azure Functions', REST endpoint reference.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, Self, override

import aiohttp
import msgspec
from azure.core.credentials import AccessToken
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import ClientAuthenticationError
from pydantic import SecretStr

from shared.outbound.asking import RetryPolicy, Sdk, fault_in, with_retries
from shared.outbound.bounded import body_of
from shared.outbound.faults import Fault, Reason, ServiceFault, reason_of_status

RENEWED_BEFORE_SECONDS = 300
"""How long before its end a token is renewed, as in `azure.core`."""
_RETRIED_AFTER_SECONDS = 30
"""How long a token that could not be renewed is used before the next try: each costs callers their time."""
_LONGEST_WAIT_SECONDS = 10.0
"""Time limit for a token, with the tries."""
_LARGEST_ANSWER = 64 * 1024
"""Bytes of an answer; a token with many claims has some thousand."""
_POLICY = RetryPolicy(retries=3, first_backoff=0.25)
_ELSEWHERE = frozenset(
    {
        *("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME", "AZURE_FEDERATED_TOKEN_FILE"),
        *("AZURE_TOKEN_CREDENTIALS", "IDENTITY_SERVER_THUMBPRINT"),
    }
)
"""Variables by which `azure.identity` signs in with something else, or to the endpoint of another platform."""

_log = logging.getLogger("switchboard.azure")


class _Answer(msgspec.Struct):
    access_token: str
    expires_on: int | str


_SDK = Sdk((ServiceFault, aiohttp.ClientError), fault_in, _log)


class ManagedIdentity(AsyncTokenCredential):
    """The identity whose tokens the platform's endpoint gives to the app's own processes.

    Args:
        endpoint: URL of the endpoint.
        header: Shows that the caller is in the app's own environment.
        client_id: The user-assigned identity; None: the app's own.
    """

    def __init__(self, endpoint: str, header: SecretStr, client_id: str | None) -> None:
        self._endpoint = endpoint
        self._header = header
        self._client = {"client_id": client_id} if client_id else {}
        self._tokens: dict[str, AccessToken] = {}
        self._failed: dict[str, float] = {}
        """When renewing a token failed, by its resource."""
        self._asking = asyncio.Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self | None:
        """Return the identity that the platform offers; None if the app signs in in another way."""
        endpoint, header = environment.get("IDENTITY_ENDPOINT"), environment.get("IDENTITY_HEADER")
        if not (endpoint and header) or any(environment.get(name) for name in _ELSEWHERE):
            return None
        return cls(endpoint, SecretStr(header), environment.get("AZURE_CLIENT_ID"))

    @override
    async def get_token(self, *scopes: str, claims: str | None = None, **_options: Any) -> AccessToken:
        """Return a token that is valid now, which is kept until shortly before its end.

        Args:
            scopes: One scope.
            claims: What a service wants of a token in place of the one that it refused.

        Raises:
            ClientAuthenticationError: the endpoint gives none; says why.
        """
        [scope] = scopes
        resource = scope.removesuffix("/.default")
        async with self._asking:
            token = None if claims else self._tokens.get(resource)
            now = time.time()
            left = token.expires_on - now if token else 0
            has_failed = now < self._failed.get(resource, 0) + _RETRIED_AFTER_SECONDS
            if token is None or left <= 0 or (left < RENEWED_BEFORE_SECONDS and not has_failed):
                try:
                    token = self._tokens[resource] = await self._ask(resource)
                except ClientAuthenticationError:
                    self._failed[resource] = now
                    if token is None or left <= 0:
                        raise
            return token

    @override
    async def close(self) -> None:
        """Do nothing: each request for a token has a connection of its own."""

    @override
    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def _ask(self, resource: str) -> AccessToken:
        deadline = asyncio.get_running_loop().time() + _LONGEST_WAIT_SECONDS
        try:
            return await with_retries(
                lambda: self._get(resource), _SDK, _POLICY, deadline=deadline, service="managed identity"
            )
        except (ServiceFault, aiohttp.ClientError, TimeoutError) as exc:
            status = exc.fault.status if isinstance(exc, ServiceFault) else type(exc).__name__
            problem = f"The endpoint of the managed identity gives no token ({status}): check that the app has the " + (
                "identity of AZURE_CLIENT_ID."
                if self._client
                else "identity, or set AZURE_CLIENT_ID to one that it has."
            )
            _log.warning("%s", problem)
            raise ClientAuthenticationError(problem) from None

    async def _get(self, resource: str) -> AccessToken:
        query = {"api-version": "2019-08-01", "resource": resource, **self._client}
        headers = {"X-IDENTITY-HEADER": self._header.get_secret_value(), "Accept-Encoding": "identity"}
        # No proxy of the environment: the endpoint is on this machine, and the header is for it alone.
        async with (
            aiohttp.ClientSession(trust_env=False, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.get(self._endpoint, params=query, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise ServiceFault(Fault(reason_of_status(response.status), response.status))
            body = await body_of(response, _LARGEST_ANSWER)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
            return AccessToken(answer.access_token, int(answer.expires_on))
        except ValueError:
            raise ServiceFault(Fault(Reason.NOT_AN_ANSWER, response.status)) from None
