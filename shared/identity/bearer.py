"""`AUTH_MODE=bearer`: checks the Microsoft Entra ID tokens that callers send. Imports PyJWT: import it late.

Source: Microsoft identity platform, 'Validate tokens' and 'Signing key rollover'; OpenID Connect Discovery 1.0,
`jwks_uri`; RFC 6750; RFC 8725.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
import jwt
import msgspec
from jwt import PyJWK, PyJWKSet, PyJWKSetError

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn, Unavailable
from shared.identity.claims import caller_of, only_header
from shared.outbound.bounded import body_of
from shared.outbound.faults import ServiceFault
from shared.settings import Settings

_log = logging.getLogger("switchboard.identity")

ALGORITHM = "RS256"
"""The only signature algorithm that Entra ID uses."""
_FETCH_TIMEOUT_SECONDS = 5.0
"""Time limit for fetching the keys."""
_LARGEST_KEY_SET = 1024 * 1024
"""Bytes of the document with the keys."""


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


class SigningKeys:
    """The public keys of a tenant. Fetches them when they are first needed, once for all callers, and caches them.

    Args:
        url: URL of the tenant's JSON Web Key Set.
        age: Seconds after which the keys are fetched again. Until then, and during the fetch, the old ones are used.
        pause: Seconds after a failed fetch in which no other is tried.
        interval: Seconds between two fetches, at least. Requests with unknown keys wait for the next one: forged tokens
            cause few fetches, and keep nobody out who has a new key.
    """

    def __init__(self, url: str, *, age: float = 6 * 3600, pause: float = 10, interval: float = 1) -> None:
        self._url = url
        self._age = age
        self._pause = pause
        self._interval = interval
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._tried = -float("inf")
        self._fetching: asyncio.Task[None] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def key(self, name: str) -> PyJWK:
        """Return a key.

        Args:
            name: The key's id, `kid`.

        Raises:
            NotSignedIn: the tenant has no such key.
            Unavailable: no keys could be fetched.
        """
        now = asyncio.get_running_loop().time()
        known = self._keys.get(name)
        if known is None or now - self._fetched > self._age:
            self._fetch_soon(now)
        if known is None and self._fetching:
            await asyncio.shield(self._fetching)  # other callers wait for it too
            known = self._keys.get(name)
        if known:
            return known
        if not self._keys:
            raise Unavailable(
                "The sign-in cannot be checked now: the tenant's signing keys cannot be fetched. Try again in a "
                "moment; if it stays, check AUTH_AUTHORITY and AUTH_TENANT_ID."
            )
        raise NotSignedIn("The token is signed with a key that the tenant does not have: sign in again.", refused=True)

    async def aclose(self) -> None:
        """Cancel a running fetch, and close the connections."""
        if self._fetching:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        if self._session:
            await self._session.close()

    def _fetch_soon(self, now: float) -> None:
        has_failed = self._tried > self._fetched
        if self._fetching or (has_failed and now - self._tried < self._pause):
            return
        self._fetching = asyncio.create_task(self._fetch(self._tried + self._interval - now))
        self._fetching.add_done_callback(self._fetch_done)

    def _fetch_done(self, _fetch: asyncio.Task[None]) -> None:
        self._fetching = None

    async def _fetch(self, wait: float) -> None:
        await asyncio.sleep(max(0.0, wait))
        self._tried = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_FETCH_TIMEOUT_SECONDS):
                keys = _read(await self._get())
        except (aiohttp.ClientError, ServiceFault, OSError, ValueError, RecursionError, PyJWKSetError) as exc:
            _log.warning("the tenant's signing keys cannot be fetched (%s)", type(exc).__name__)
        else:
            self._keys, self._fetched = keys, asyncio.get_running_loop().time()

    async def _get(self) -> bytes:
        if self._session is None:
            # Read as it is: a small compressed document can unpack to any size.
            self._session = aiohttp.ClientSession(auto_decompress=False, headers={"Accept-Encoding": "identity"})
        async with self._session.get(self._url, allow_redirects=False) as response:
            if response.status != 200:
                raise ValueError("not the keys")
            return await body_of(response, _LARGEST_KEY_SET)


def _read(body: bytes) -> dict[str, PyJWK]:
    """Read the keys for signatures, by id; a document without usable ones raises ValueError or PyJWKSetError."""
    document = msgspec.json.decode(body, type=_Document)
    # The library fails on the whole set if it cannot read one key, so the keys for other purposes are removed before.
    ours = [key for key in document.keys if _signs(key)]
    usable = {key.key_id: key for key in PyJWKSet(ours) if key.key_id}
    if not usable:
        raise ValueError("no key to check a signature with")
    return usable


def _signs(key: dict[str, Any]) -> bool:
    """Whether it is a key with an id for RS256 signatures. Entra ID leaves `alg` out."""
    return (
        key.get("kty") == "RSA"
        and key.get("alg") in (None, ALGORITHM)
        and key.get("use") in (None, "sig")
        and isinstance(key.get("kid"), str)
    )


_CLOCK_LEEWAY_SECONDS = 60
"""Largest accepted difference between the clocks of this machine and of the directory."""
_REQUIRED_CLAIMS = ["aud", "exp", "iat", "iss", "nbf", "oid", "tid"]
_ACCESS_TOKEN_CLAIMS = frozenset({"azp", "appid"})
"""Claims that name the application that requested the token, in v2.0 and v1.0. ID tokens have neither."""

SENTENCES: dict[type[jwt.PyJWTError], str] = {
    jwt.PyJWTError: "The token cannot be read: send one of Microsoft Entra ID, as it was issued.",
    jwt.InvalidSignatureError: "The token's signature does not hold: sign in again.",
    jwt.InvalidAlgorithmError: "The token is not signed as Microsoft Entra ID signs.",
    jwt.ExpiredSignatureError: "The token has expired: sign in again.",
    jwt.ImmatureSignatureError: "The token is not valid yet: check the clock of the machine that sent it.",
    jwt.InvalidAudienceError: "The token is for another application: ask for one for this app (AUTH_CLIENT_ID).",
    jwt.InvalidIssuerError: "The token is of another issuer: sign in to the tenant of this app.",
    jwt.MissingRequiredClaimError: "The token lacks a claim that Microsoft Entra ID gives to users' tokens: send its "
    "access token for this app.",
}
"""Error message for each error of PyJWT; for an error without one, that of its nearest base class."""


class BearerTokens:
    """An `Identity` that accepts only tokens that the tenant signed for this app.

    Args:
        tenant: The tenant's id.
        client: The id of this app's registration.
        authority: The directory's URL.
        keys: The tenant's signing keys; closed by `aclose`.
        id_tokens: Whether ID tokens count as well, which say who has signed in to the app's registration, and no more.
    """

    def __init__(self, tenant: str, client: str, authority: str, keys: SigningKeys, *, id_tokens: bool = False) -> None:
        self._tenant = tenant
        self._takes_id_tokens = id_tokens
        self._audiences = [client, f"api://{client}"]
        self._issuers = [f"{authority}/{tenant}/v2.0", f"https://sts.windows.net/{tenant}/"]
        self._keys = keys

    @classmethod
    def from_settings(cls, settings: Settings) -> "BearerTokens":
        """Make it for these settings, which were checked to be complete."""
        tenant, client = (settings.auth_tenant_id or "").lower(), (settings.auth_client_id or "").lower()
        authority = settings.auth_authority.rstrip("/")
        keys = SigningKeys(f"{authority}/{tenant}/discovery/v2.0/keys")
        return cls(tenant, client, authority, keys, id_tokens=settings.auth_id_tokens)

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the user of the request's token.

        Raises:
            NotSignedIn: there is no token, or it is not valid; says why.
            Unavailable: the tenant's keys are not available now.
        """
        scheme, _, token = (only_header(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotSignedIn("Sign in: send an access token of Microsoft Entra ID (Authorization: Bearer …).")
        claims = await self._claims(token.strip(" "))
        is_id_token = not _ACCESS_TOKEN_CLAIMS & claims.keys()
        if is_id_token and not self._takes_id_tokens:
            raise NotSignedIn(
                "This is an ID token: send an access token for this app (or have AUTH_ID_TOKENS turned on).",
                refused=True,
            )
        if is_id_token and claims["aud"] != self._audiences[0]:
            raise NotSignedIn(SENTENCES[jwt.InvalidAudienceError], refused=True)
        if not (is_id_token or _has_permission(claims)):
            raise NotSignedIn(
                "The token carries no permission for this app: ask for one of its scopes, or have one of its app roles "
                "assigned to the application that calls.",
                refused=True,
            )
        return caller_of(claims.items(), self._tenant)

    async def check(self) -> PartHealth:
        """Report that callers have to sign in. Whether they can is not tested."""
        return PartHealth("bearer", ok=True, detail="Callers have to sign in.")

    async def aclose(self) -> None:
        """Close the connections to the directory."""
        await self._keys.aclose()

    async def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != ALGORITHM:  # fetch no keys for a token that cannot be valid
                raise jwt.InvalidAlgorithmError
            key = await self._keys.key(header.get("kid", ""))
            return jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=self._audiences,
                issuer=self._issuers,
                leeway=_CLOCK_LEEWAY_SECONDS,
                options={"require": _REQUIRED_CLAIMS},
            )
        except jwt.PyJWTError as exc:
            # Without the cause: its text may quote the token.
            raise NotSignedIn(_sentence(exc), refused=True) from None


def _has_permission(claims: dict[str, Any]) -> bool:
    """Whether the token names a scope or an app role. Every application of the tenant can get a token without.

    Source: Microsoft identity platform, 'Verify scopes and app roles in protected web API'.
    """
    match claims.get("scp"), claims.get("roles"):
        case str(scopes), _ if scopes.strip():
            return True
        case _, [str(role), *_] if role:
            return True
        case _:
            return False


def _sentence(exc: jwt.PyJWTError) -> str:
    return next(SENTENCES[kind] for kind in type(exc).__mro__ if kind in SENTENCES)
