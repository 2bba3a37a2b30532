"""A local HTTP server that stands in for the directory: it publishes signing keys, and signs tokens with them.

Clients can also find out how to sign a user in, and get a token for the code that `allow` returns; a browser that is
sent to sign in comes back with the code at once, or refused after `deny`.

    async with EntraStandIn() as entra:
        token = entra.token(oid="…", groups=["…"])       # any claim can be given, or left out with None
        entra.rotate()                                   # from now on another key signs
        entra.fail(503)                                  # for the next request, first come, first served
        ...point the app at it with entra.settings...

Source: RFC 7517; RFC 7636; OpenID Connect Discovery 1.0; Microsoft identity platform, 'Access token claims reference'.
"""

import asyncio
import json
import ssl
import time
from base64 import urlsafe_b64encode
from collections import deque
from functools import cache
from hashlib import sha256
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from yarl import URL

from tests.stand_ins.local_server import LocalServer

TENANT = "5d5b1f1e-7b8c-4d0a-9f5e-2c1a3b4c5d6e"
CLIENT = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
REGISTRATION = "secret-of-the-registration"
OTHER_TENANT = "99999999-9999-4999-8999-999999999999"
ADA = "aaaaaaaa-0000-4000-8000-000000000001"
BEN = "bbbbbbbb-0000-4000-8000-000000000002"
STAFF = "11111111-0000-4000-8000-00000000000a"
_KEYS = f"/{TENANT}/discovery/v2.0/keys"
_CONFIGURATION = f"/{TENANT}/v2.0/.well-known/openid-configuration"
_AUTHORIZE = f"/{TENANT}/oauth2/v2.0/authorize"
_TOKEN = f"/{TENANT}/oauth2/v2.0/token"
_FOR_PAGES = {"Access-Control-Allow-Origin": "*"}


@cache
def rsa_key(number: int) -> RSAPrivateKey:
    """One of some keys; making one takes a while."""
    del number
    return generate_private_key(public_exponent=65537, key_size=2048)


class EntraStandIn(LocalServer):
    """The server, as an async context manager; every method may be called at any time.

    Args:
        tls: For https, without which browsers are not sent to sign in.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.requests = 0
        """How often the keys were asked for."""
        self.gate: asyncio.Event | None = None
        """Answer only when it is set."""
        self.arrived = asyncio.Event()
        """Set when the keys are asked for."""
        self.accepted: str | None = None
        """The `Accept-Encoding` of the last request."""
        self._number = 0
        self._failures: deque[tuple[int, bytes, dict[str, str]]] = deque()
        self._down = False
        self._denies = False
        self._asked: dict[str, dict[str, str]] = {}
        self.exchanged: list[dict[str, str]] = []
        """The forms by which the app asked for tokens on behalf of callers."""

    @property
    def authority(self) -> str:
        """The directory's address."""
        return self.endpoint

    @property
    def keys_url(self) -> str:
        """Where the keys are."""
        return self.authority + _KEYS

    @property
    def settings(self) -> dict[str, str]:
        """The environment that has the app believe this server."""
        return {
            "AUTH_MODE": "bearer",
            "AUTH_TENANT_ID": TENANT,
            "AUTH_CLIENT_ID": CLIENT,
            "AUTH_AUTHORITY": self.authority,
        }

    @property
    def kid(self) -> str:
        """The name of the key that signs now."""
        return f"key-{self._number}"

    @property
    def public_pem(self) -> bytes:
        """The key that everybody can know."""
        return rsa_key(self._number).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What a user's access token (v2.0) says; a claim that is None is left out."""
        now = int(time.time())
        usual = {
            "aud": CLIENT,
            "iss": f"{self.authority}/{TENANT}/v2.0",
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
            "oid": ADA,
            "tid": TENANT,
            "sub": "of-this-app-only",
            "azp": "the-front-end",
            "scp": "access_as_user",
            "ver": "2.0",
        }
        return {name: value for name, value in (usual | changed).items() if value is not None}

    def token(self, headers: dict[str, Any] | None = None, **changed: Any) -> str:
        """A token that this directory signs; its headers can be changed too, None leaves one out."""
        named = {"kid": self.kid} | (headers or {})
        kept = {name: value for name, value in named.items() if value is not None}
        return jwt.encode(self.claims(**changed), rsa_key(self._number), "RS256", headers=kept)

    def bearer(self, **changed: Any) -> dict[str, str]:
        """The header with such a token."""
        return {"Authorization": f"Bearer {self.token(**changed)}"}

    def rotate(self) -> None:
        """Sign with another key; the old one is not published any more."""
        self._number += 1

    @property
    def document(self) -> bytes:
        """What is published."""
        return json.dumps({"keys": [self._published()]}).encode()

    def fail(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Answer the next request so; a redirection leads to where the keys are."""
        self._failures.append((status, body, headers or {}))

    def go_down(self) -> None:
        """Answer nothing but 503 from now on."""
        self._down = True

    def deny(self) -> None:
        """Let no user sign in from now on."""
        self._denies = True

    def allow(self, url: str) -> tuple[str, str]:
        """Let the user that a client sends to this URL sign in; return the code and the state for the client."""
        asked = URL(url)
        assert asked.path == _AUTHORIZE
        code = f"code-{len(self._asked)}"
        self._asked[code] = dict(asked.query)
        return code, asked.query["state"]

    async def _serve(self, request: web.Request) -> web.Response:
        if request.path == _CONFIGURATION:
            return web.json_response(self._configuration(), headers=_FOR_PAGES)
        if request.path == _TOKEN:
            sent = dict((await request.post()).items())
            return self._exchange(sent) if "requested_token_use" in sent else self._issue(sent)
        if request.path == _AUTHORIZE:
            return self._send_back(request)
        if request.path != _KEYS:
            return web.Response(status=404)
        self.requests += 1
        self.accepted = request.headers.get("Accept-Encoding")
        self.arrived.set()
        if self.gate:
            await self.gate.wait()
        if self._down:
            return web.Response(status=503)
        if self._failures:
            status, body, headers = self._failures.popleft()
            return web.Response(status=status, body=body, headers={"Location": self.keys_url, **headers})
        return web.Response(body=self.document, content_type="application/json")

    def _configuration(self) -> dict[str, Any]:
        """What clients learn of the directory. Source: OpenID Connect Discovery 1.0; Entra ID has no registration."""
        return {
            "issuer": f"{self.authority}/{TENANT}/v2.0",
            "authorization_endpoint": self.authority + _AUTHORIZE,
            "token_endpoint": self.authority + _TOKEN,
            "jwks_uri": self.keys_url,
            "response_types_supported": ["code"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "code_challenge_methods_supported": ["S256"],
        }

    def _issue(self, sent: dict[str, Any]) -> web.Response:
        """A token for a code and the secret of the one who asked for it (RFC 7636), for the app of the scope."""
        asked = self._asked.pop(str(sent.get("code")), {})
        digest = sha256(str(sent.get("code_verifier")).encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        scopes = asked.get("scope", "").split()
        if asked.get("code_challenge") != challenge or f"{CLIENT}/.default" not in scopes:
            return web.json_response({"error": "invalid_grant"}, status=400, headers=_FOR_PAGES)
        issued = {
            "access_token": self.token(azp=asked["client_id"]),
            "id_token": self.token(aud=asked["client_id"], nonce=asked.get("nonce"), name="Ada Lovelace"),
            "scope": asked["scope"],
            "token_type": "Bearer",
            "expires_in": 3600,
        }
        return web.json_response(issued, headers=_FOR_PAGES)

    def _exchange(self, sent: dict[str, Any]) -> web.Response:
        """A token on behalf of the caller whose token is sent. Source: 'OAuth 2.0 On-Behalf-Of flow'."""
        self.exchanged.append(sent)
        is_app = sent.get("client_secret") == REGISTRATION or sent.get("client_assertion")
        asked = sent.get("grant_type"), sent.get("requested_token_use"), sent.get("client_id")
        if not is_app or asked != ("urn:ietf:params:oauth:grant-type:jwt-bearer", "on_behalf_of", CLIENT):
            return web.json_response({"error": "invalid_client", "error_codes": [7000215]}, status=401)
        if not sent.get("assertion"):
            return web.json_response({"error": "invalid_grant"}, status=400)
        token = f"{sent['scope']} for {sent['assertion']}".replace(" ", "-")
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": 3600})

    def _send_back(self, request: web.Request) -> web.Response:
        """Send a browser back with a code, or an error (OAuth 2.0, 4.1.2; Multiple Response Types, 2.1)."""
        back = URL(request.query["redirect_uri"])
        if self._denies:
            told = {"error": "access_denied", "error_description": "The user has cancelled."}
            told["state"] = request.query["state"]
        else:
            code, state = self.allow(str(request.url))
            told = {"code": code, "state": state}
        return web.Response(status=302, headers={"Location": f"{back}#{URL.build(query=told).raw_query_string}"})

    def _published(self) -> dict[str, Any]:
        return published(self._number, self.kid)


def published(number: int, kid: str) -> dict[str, Any]:
    """One of the keys as Entra ID publishes it: without `alg`."""
    numbers = rsa_key(number).public_key().public_numbers()
    return {"kty": "RSA", "use": "sig", "kid": kid, "n": _number(numbers.n), "e": _number(numbers.e)}


def _number(value: int) -> str:
    raw = value.to_bytes((value.bit_length() + 7) // 8)
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
