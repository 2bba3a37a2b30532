"""Who sends an activity: checks the tokens of Azure Bot Service and of applications of the bot's tenant.

Bot Service names its channel's user, whom the channel has signed in: it is believed for Teams alone. The client of any
other channel chooses its user's id, and every application of the tenant gets a token for the bot: neither is a user of
the directory here. Imports PyJWT: import it late.

Source: Microsoft, 'Authentication with the Bot Connector API', connector to bot; 'Agents SDK', JWT validation.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
import msgspec

from shared.chat_types import Caller
from shared.errors import NotAllowed, NotSignedIn
from shared.identity.claims import only_header
from shared.identity.signing_keys import SENTENCES, SigningKeys, verified_claims
from shared.settings import Settings

_CLOCK_LEEWAY_SECONDS = 300
"""Largest difference between the clocks; Bot Service's own value."""
_REQUIRED_CLAIMS = ["aud", "exp", "iss"]
_LONGEST_ID = 500
"""Characters of a sender's id."""
_TEAMS = "msteams"
"""The channel whose users are those of the directory."""


class Signed(msgspec.Struct, frozen=True):
    """What a valid token says."""

    claims: Mapping[str, Any]
    """Its claims."""
    channels: frozenset[str] | None
    """The channels of which its key may sign activities; None: an application of the tenant has sent it."""

    @property
    def is_service(self) -> bool:
        """Whether Bot Service has sent it, so that the activity's service URL can be answered."""
        return self.channels is not None


class Users(Protocol):
    """Checks the tokens of users, as `AUTH_MODE=bearer` does."""

    async def user(self, token: str) -> tuple[Caller, float]:
        """Return the user of a token, and when it expires, as a Unix time; raise NotSignedIn if it is not valid."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class BotTokens:
    """Accepts tokens for the bot of some settings, which were checked to be complete.

    Args:
        settings: The settings.
        users: Checks what single sign-on brings; None: there is none.
    """

    def __init__(self, settings: Settings, users: Users | None = None) -> None:
        self._users = users
        self._bot, self._tenant = (settings.bot_id or "").lower(), (settings.bot_tenant_id or "").lower()
        authority, metadata = settings.auth_authority.rstrip("/"), settings.bot_openid_metadata
        self._service = SigningKeys(metadata, "BOT_OPENID_METADATA")
        keys = f"{authority}/{self._tenant}/discovery/v2.0/keys"
        self._directory = SigningKeys(keys, "AUTH_AUTHORITY and BOT_TENANT_ID")
        self._issuers = [f"{authority}/{self._tenant}/v2.0", f"https://sts.windows.net/{self._tenant}/"]
        self._local = metadata.startswith("http://")
        """Whether the service may be at this machine, without TLS: a stand-in is, with its metadata."""

    async def signed(self, headers: Mapping[str, str]) -> Signed:
        """Check the token of a request.

        Raises:
            NotSignedIn: there is none, or it is not valid; says why.
            Unavailable: the keys are not available now.
        """
        scheme, _, token = (only_header(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotSignedIn("Activities come from Azure Bot Service, with its token (Authorization: Bearer …).")
        token = token.strip(" ")
        try:
            issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
            name = str(jwt.get_unverified_header(token).get("kid"))
        except jwt.PyJWTError:
            raise NotSignedIn(SENTENCES[jwt.PyJWTError], refused=True) from None
        is_service = issuer not in self._issuers
        claims = await verified_claims(
            token,
            self._service if is_service else self._directory,
            issuers=() if is_service else self._issuers,
            audience=self._bot,
            leeway=_CLOCK_LEEWAY_SECONDS,
            options={"require": _REQUIRED_CLAIMS if is_service else [*_REQUIRED_CLAIMS, "tid"]},
        )
        return Signed(claims, self._service.endorsements.get(name, frozenset()) if is_service else None)

    def caller(
        self, signed: Signed, *, channel: str, service_url: str, tenants: frozenset[str], user: str, sender: str
    ) -> Caller:
        """Return the caller of an activity whose token is valid.

        Args:
            signed: What the token says.
            channel: The activity's channel.
            service_url: Where it is answered.
            tenants: Tenants of its conversation and its user, in lower case, as far as they are said.
            user: Object id of its user in the directory; empty: not said.
            sender: Id of the user in the channel.

        Raises:
            NotAllowed: the token does not allow this activity; says why.
        """
        channel = channel.partition(":")[0]
        if tenants - {self._tenant}:
            raise NotAllowed("The conversation or its user is of another tenant than the bot's (BOT_TENANT_ID).")
        if not sender or len(sender) > _LONGEST_ID:
            raise NotAllowed("The activity does not say who sends it (from.id).")
        if not signed.is_service:
            application = signed.claims.get("azp") or signed.claims.get("appid")
            if str(signed.claims["tid"]).lower() != self._tenant or not isinstance(application, str):
                raise NotAllowed("The token is of no application of the bot's tenant (BOT_TENANT_ID).")
            return Caller(key=f"agent {application} {sender}")  # no API key has a name with a space
        if channel not in (signed.channels or ()):
            raise NotAllowed("The token's key is not endorsed for the activity's channel.")
        claimed = signed.claims.get("serviceurl")
        if not isinstance(claimed, str) or claimed.rstrip("/") != service_url.rstrip("/"):
            raise NotAllowed("The token is for another service URL than the activity's.")
        if not self._is_safe(service_url):
            raise NotAllowed("The activity's service URL is not one of a service with TLS.")
        if channel != _TEAMS:
            return Caller(key=f"{channel} {sender}")
        if not (user and tenants):
            raise NotAllowed("Only users of the bot's tenant can use it in Teams (from.aadObjectId).")
        return Caller(oid=user, tenant=self._tenant)

    async def groups(self, token: str, caller: Caller) -> tuple[tuple[str, ...], float]:
        """Check the token of single sign-on that a caller has sent; return its groups, and when it expires.

        Raises:
            NotSignedIn: it is not valid, of somebody else, or does not say the groups; says why.
            Unavailable: the keys are not available now.
        """
        if self._users is None:
            raise NotSignedIn("This bot has no single sign-on: BOT_SSO_RESOURCE is not set.")
        user, expires = await self._users.user(token)
        if caller.oid is None or (user.oid or "").lower() != caller.oid.lower():
            raise NotSignedIn("The token is of another user than the activity's.", refused=True)
        if user.groups is None:
            raise NotSignedIn("The token has no room for the user's groups: send those of this application only.")
        return user.groups, expires

    def _is_safe(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        is_plain = parts.hostname and not (parts.username or parts.password or parts.query or parts.fragment)
        is_local = self._local and parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
        return bool(is_plain and (parts.scheme == "https" or is_local))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._service.aclose()
        await self._directory.aclose()
        if self._users:
            await self._users.aclose()
