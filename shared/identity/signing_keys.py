"""The public keys that check the signatures of a tenant's tokens. Imports PyJWT and aiohttp: import it late.

Source: OpenID Connect Discovery 1.0, `jwks_uri`; Microsoft identity platform, 'Signing key rollover'.
"""

import asyncio
import logging
from typing import Any

import aiohttp
import msgspec
from jwt import PyJWK, PyJWKSet, PyJWKSetError

from shared.errors import NotSignedIn, Unavailable

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
    """Fetches the keys when they are first needed, with one request for all callers, and caches them.

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
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError, PyJWKSetError) as exc:
            _log.warning("the tenant's signing keys cannot be fetched (%s)", type(exc).__name__)
        else:
            self._keys, self._fetched = keys, asyncio.get_running_loop().time()

    async def _get(self) -> bytes:
        if self._session is None:
            # Read as it is: a small compressed document can unpack to any size.
            self._session = aiohttp.ClientSession(auto_decompress=False, headers={"Accept-Encoding": "identity"})
        body = bytearray()
        async with self._session.get(self._url, allow_redirects=False) as response:
            if response.status != 200:
                raise ValueError("not the keys")
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _LARGEST_KEY_SET:
                    raise ValueError("too long")
        return bytes(body)


def _read(body: bytes) -> dict[str, PyJWK]:
    """Read the keys for signatures, by id.

    Raises:
        ValueError, PyJWKSetError: the document is malformed, or has no usable key.
    """
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
