"""Checks who has signed a token: public keys, fetched and kept, and what a token claims. Imports PyJWT: import it late.

Source: Microsoft identity platform, 'Signing key rollover'; OpenID Connect Discovery 1.0, `jwks_uri`; RFC 8725.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
import msgspec
from jwt import PyJWK, PyJWKSet, PyJWKSetError

from shared.errors import NotSignedIn, Unavailable
from shared.outbound.bounded import body_of
from shared.outbound.faults import ServiceFault
from shared.outbound.sending import Connections

_log = logging.getLogger("switchboard.identity")

ALGORITHM = "RS256"
"""The only signature algorithm that Entra ID uses."""
_FETCH_TIMEOUT_SECONDS = 5.0
"""Time limit for fetching the keys."""
_LARGEST_KEY_SET = 1024 * 1024
"""Bytes of the document with the keys."""


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]] = []
    issuer: str = ""
    jwks_uri: str = ""


class SigningKeys:
    """The public keys of an issuer. Fetches them when they are first needed, once for all callers, and caches them.

    Args:
        url: URL of the issuer's JSON Web Key Set, or of the OpenID metadata that names it.
        settings: The settings to check when they cannot be fetched.
        age: Seconds after which the keys are fetched again. Until then, and during the fetch, the old ones are used.
        pause: Seconds after a failed fetch in which no other is tried.
        interval: Seconds between two fetches, at least. Requests with unknown keys wait for the next one: forged tokens
            cause few fetches, and keep nobody out who has a new key.
    """

    def __init__(
        self,
        url: str,
        settings: str = "AUTH_AUTHORITY and AUTH_TENANT_ID",
        *,
        age: float = 6 * 3600,
        pause: float = 10,
        interval: float = 1,
    ) -> None:
        self.issuer = ""
        """The issuer that the metadata names; empty until they are fetched, or if there are none."""
        self.endorsements: Mapping[str, frozenset[str]] = {}
        """By the id of a key of the Bot Framework: the channels of which it may sign activities."""
        self._url = url
        self._settings = settings
        self._age = age
        self._pause = pause
        self._interval = interval
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._tried = -float("inf")
        self._fetching: asyncio.Task[None] | None = None
        self._http = Connections()

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
                f"moment; if it stays, check {self._settings}."
            )
        raise NotSignedIn("The token is signed with a key that the tenant does not have: sign in again.", refused=True)

    async def aclose(self) -> None:
        """Cancel a running fetch, and close the connections."""
        if self._fetching:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        await self._http.aclose()

    def _fetch_soon(self, now: float) -> None:
        has_failed = self._tried > self._fetched
        if (self._fetching and not self._fetching.done()) or (has_failed and now - self._tried < self._pause):
            return
        self._fetching = asyncio.create_task(self._fetch(self._tried + self._interval - now))

    async def _fetch(self, wait: float) -> None:
        await asyncio.sleep(max(0.0, wait))
        self._tried = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_FETCH_TIMEOUT_SECONDS):
                document = await self._document()
                keys = _usable(document)
        except (ServiceFault, OSError, ValueError, RecursionError, PyJWKSetError) as exc:
            _log.warning("the tenant's signing keys cannot be fetched (%s)", type(exc).__name__)
        else:
            self._keys, self._fetched = keys, asyncio.get_running_loop().time()
            self.endorsements = {
                key["kid"]: frozenset(key.get("endorsements", ())) for key in document.keys if _signs(key)
            }

    async def _document(self) -> _Document:
        document = msgspec.json.decode(await self._get(self._url), type=_Document)
        if not document.jwks_uri:
            return document
        self.issuer = document.issuer
        if document.jwks_uri.partition(":")[0] != self._url.partition(":")[0]:
            raise ValueError("keys without TLS")
        return msgspec.json.decode(await self._get(document.jwks_uri), type=_Document)

    async def _get(self, url: str) -> bytes:
        async with self._http.send("GET", url, {}) as response:
            if response.status != 200:
                raise ValueError("not the keys")
            return await body_of(response, _LARGEST_KEY_SET)


def _usable(document: _Document) -> dict[str, PyJWK]:
    """Read the keys for signatures, by id; a document without usable ones raises ValueError or PyJWKSetError."""
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


async def verified_claims(
    token: str,
    keys: SigningKeys,
    *,
    issuers: Sequence[str] = (),
    **expected: Any,  # noqa: ANN401 (of PyJWT)
) -> dict[str, Any]:
    """Check a token; return what it claims.

    Args:
        token: The token.
        keys: The keys, one of which must have signed it.
        issuers: Who may have issued it; empty: whom the keys' metadata names.
        expected: The audience, the leeway in seconds, and what claims it must have, as PyJWT takes them.

    Raises:
        NotSignedIn: it is not valid; says why.
        Unavailable: the keys are not available now.
    """
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") != ALGORITHM:  # fetch no keys for a token that cannot be valid
            raise jwt.InvalidAlgorithmError
        key = await keys.key(header.get("kid", ""))
        return jwt.decode(token, key, algorithms=[ALGORITHM], issuer=issuers or [keys.issuer], **expected)
    except jwt.PyJWTError as exc:
        # Without the cause: its text may quote the token.
        raise NotSignedIn(
            next(SENTENCES[kind] for kind in type(exc).__mro__ if kind in SENTENCES), refused=True
        ) from None
