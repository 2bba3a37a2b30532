"""The public keys that a tenant's tokens are signed with. Imports PyJWT and aiohttp: import it late.

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
"""The only one that Entra ID signs with."""
_FETCH_SECONDS = 5.0
_MOST_BYTES = 1024 * 1024


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


class SigningKeys:
    """Fetches the keys when they are needed, once for all who wait, and keeps them.

    Args:
        url: Where the tenant's JSON Web Key Set is.
        age: Seconds after which they are fetched anew; until that is done the old ones go on.
        pause: Seconds between two fetches, at least: forged tokens, which name any key, must not become requests.
    """

    def __init__(self, url: str, *, age: float = 6 * 3600, pause: float = 10) -> None:
        self._url = url
        self._age = age
        self._pause = pause
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._tried = -float("inf")
        self._fetching: asyncio.Task[None] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def key(self, name: str) -> PyJWK:
        """The key of this name, the `kid`.

        Raises:
            NotSignedIn: the tenant has no such key.
            Unavailable: nobody knows its keys now.
        """
        now = asyncio.get_running_loop().time()
        known = self._keys.get(name)
        if known is None or now - self._fetched > self._age:
            self._fetch_soon(now)
        if known is None and self._fetching:
            await asyncio.shield(self._fetching)  # others wait for it too
            known = self._keys.get(name)
        if known:
            return known
        if not self._keys:
            raise Unavailable(
                "Who is signed in cannot be checked now: the tenant's signing keys cannot be fetched. Try again in a "
                "moment; if it stays, check AUTH_AUTHORITY and AUTH_TENANT_ID."
            )
        raise NotSignedIn("The token is signed with a key that the tenant does not have: sign in again.", refused=True)

    async def aclose(self) -> None:
        """Give up a fetch that is under way, and close the connections."""
        if self._fetching:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        if self._session:
            await self._session.close()

    def _fetch_soon(self, now: float) -> None:
        if self._fetching or now - self._tried < self._pause:
            return
        self._tried = now
        self._fetching = asyncio.create_task(self._fetch())
        self._fetching.add_done_callback(self._fetch_done)

    def _fetch_done(self, _fetch: asyncio.Task[None]) -> None:
        self._fetching = None

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                keys = _read(await self._get())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError, PyJWKSetError) as exc:
            _log.warning("the tenant's signing keys cannot be fetched (%s)", type(exc).__name__)
        else:
            self._keys, self._fetched = keys, asyncio.get_running_loop().time()

    async def _get(self) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        body = bytearray()
        async with self._session.get(self._url, allow_redirects=False) as response:
            if response.status != 200:
                raise ValueError("not the keys")
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise ValueError("too long")
        return bytes(body)


def _read(body: bytes) -> dict[str, PyJWK]:
    """The keys for signatures, by name. There is at least one."""
    document = msgspec.json.decode(body, type=_Document)
    # The library stumbles over what others say of themselves, and with it over all of them.
    ours = [key for key in document.keys if _signs(key)]
    usable = {key.key_id: key for key in PyJWKSet(ours) if key.key_id}
    if not usable:
        raise ValueError("no key to check a signature with")
    return usable


def _signs(key: dict[str, Any]) -> bool:
    """Whether it is a key with a name, for signatures of the one kind. Entra ID leaves the algorithm out."""
    return (
        key.get("kty") == "RSA"
        and key.get("alg") in (None, ALGORITHM)
        and key.get("use") in (None, "sig")
        and isinstance(key.get("kid"), str)
    )
