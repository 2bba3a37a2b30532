"""How the app signs in to tool servers and APIs. Imports aiohttp: import it late.

The caller's own token goes to the directory alone, which gives another one for it (on behalf of).

Source: Microsoft identity platform, 'OAuth 2.0 On-Behalf-Of flow'; 'Workload identity federation', managed identities.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec
from pydantic import SecretStr

from shared.chat_types import RequestContext
from shared.errors import NotConfigured
from shared.identity import CallerTokens
from shared.outbound.bounded import body_of
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.sending import Connections
from shared.runtime.late_imports import Late
from shared.settings import Settings
from shared.tools.servers import Api, Auth, ToolServer

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

_RENEWED_BEFORE_SECONDS = 300
_LARGEST_ANSWER = 64 * 1024
_MOST_CALLERS = 1_000
"""Tokens on behalf of callers that are kept until they expire."""
_EXCHANGE_SCOPE = "api://AzureADTokenExchange/.default"
"""Scope of the token by which the app's identity stands for its registration."""


_log = logging.getLogger("switchboard.tools")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What signs one request in."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


type SignIn = Callable[[RequestContext], Awaitable[Credentials]]
"""Returns what signs in a request that is made for a caller. Raises ServiceFault: there is none."""


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: int = 0


class _Refusal(msgspec.Struct, frozen=True):
    error_codes: list[int] = []


class SigningIn:
    """Signs the app in to servers.

    Args:
        settings: Those of the app, with its registration in the directory.
        environment: The settings that the agents file names.
        tokens: The tokens of callers.
        connections: What requests to the directory are sent with.
    """

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], tokens: CallerTokens | None, connections: Connections
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._tokens = tokens
        self._connections = connections
        self._identity: Late[AsyncTokenCredential] = Late(_app_identity)
        self._kept: dict[tuple[str, str], tuple[str, float]] = {}
        """Tokens on behalf of callers and when they expire, by caller and scope."""

    def to(self, server: ToolServer | Api) -> SignIn:
        """Choose how to sign in to a server.

        Raises:
            NotConfigured: a setting is missing.
        """
        auth = server.auth
        key = self._key(server.name, auth.key) if auth.key else None
        if scope := auth.on_behalf_of:
            if self._settings.auth_mode != "bearer":
                raise NotConfigured(
                    f"AUTH_MODE: should be bearer, since {server.name} in AGENTS_FILE is called on behalf of callers."
                )
            return lambda context: self._on_behalf_of(context, scope, key)
        if scope := auth.managed_identity:
            return lambda _context: self._as_app(scope)
        credentials = _with_key(auth, key) if key else Credentials()

        async def sign_in(_context: RequestContext) -> Credentials:
            return credentials

        return sign_in

    async def aclose(self) -> None:
        """Close the identity's connections."""
        if identity := self._identity.made:
            await identity.close()

    def _key(self, server: str, setting: str) -> SecretStr:
        key = self._environment.get(setting, "").strip()
        if not key or not key.isprintable() or not key.isascii():
            problem = "should be one line of ASCII characters" if key else "is missing"
            raise NotConfigured(f"{setting}: {problem}; {server} in AGENTS_FILE is called with it.")
        return SecretStr(key)

    async def _as_app(self, scope: str) -> Credentials:
        return _bearer(await self._app_token(scope))

    async def _app_token(self, scope: str) -> str:
        from azure.core.exceptions import AzureError

        identity = await self._identity.get()
        try:
            return (await identity.get_token(scope)).token
        except AzureError:
            raise ServiceFault(Fault(Reason.NO_IDENTITY)) from None

    async def _on_behalf_of(self, context: RequestContext, scope: str, secret: SecretStr | None) -> Credentials:
        own = self._tokens.of(context.caller) if self._tokens else None
        if own is None or context.caller.id is None:
            raise ServiceFault(Fault(Reason.NO_IDENTITY))
        place = context.caller.id, scope
        token, until = self._kept.get(place, ("", 0.0))
        if until - time.time() < _RENEWED_BEFORE_SECONDS:
            given = await self._exchange(own, scope, secret)
            token = given.access_token
            while len(self._kept) >= _MOST_CALLERS:
                del self._kept[next(iter(self._kept))]
            self._kept[place] = token, time.time() + given.expires_in
        return _bearer(token)

    async def _exchange(self, own: SecretStr, scope: str, secret: SecretStr | None) -> _Token:
        """Have the directory give a token for the caller's own."""
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "requested_token_use": "on_behalf_of",
            "client_id": self._settings.auth_client_id or "",
            "scope": scope,
            "assertion": own.get_secret_value(),
        }
        if secret:
            form["client_secret"] = secret.get_secret_value()
        else:
            form["client_assertion"] = await self._app_token(_EXCHANGE_SCOPE)
            form["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        url = f"{self._settings.auth_authority.rstrip('/')}/{self._settings.auth_tenant_id}/oauth2/v2.0/token"
        kind = {"content-type": "application/x-www-form-urlencoded"}
        async with self._connections.send("POST", url, kind, (), urlencode(form).encode()) as response:
            body = await body_of(response, _LARGEST_ANSWER)
        try:
            if response.status == 200:
                return msgspec.json.decode(body, type=_Token)
            codes = msgspec.json.decode(body, type=_Refusal).error_codes
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            codes = []
        # Such as 65001: nobody has consented to the permission. The text beside it would name the caller.
        _log.warning("no token on behalf of a caller: HTTP %d, AADSTS %s", response.status, codes)
        raise ServiceFault(Fault(Reason.NO_IDENTITY, response.status))


def _with_key(auth: Auth, key: SecretStr) -> Credentials:
    if auth.query:
        return Credentials(query={auth.query: key.get_secret_value()})
    if auth.header:
        return Credentials({auth.header: key.get_secret_value()})
    return _bearer(key.get_secret_value())


def _bearer(token: str) -> Credentials:
    return Credentials({"Authorization": f"Bearer {token}"})


def _app_identity() -> "AsyncTokenCredential":
    from shared.outbound.azure_service.signing_in import app_identity

    return app_identity()
