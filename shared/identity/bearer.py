"""`AUTH_MODE=bearer`: checks the Microsoft Entra ID tokens that callers send. Imports PyJWT: import it late.

Source: Microsoft identity platform, 'Validate tokens'; RFC 6750; RFC 8725.
"""

from collections.abc import Mapping
from typing import Any

import jwt

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import caller_of, only_header
from shared.identity.signing_keys import SENTENCES, SigningKeys, verified_claims
from shared.settings import Settings

_CLOCK_LEEWAY_SECONDS = 60
"""Largest accepted difference between the clocks of this machine and of the directory."""
_REQUIRED_CLAIMS = ["aud", "exp", "iat", "iss", "nbf", "oid", "tid"]
_ACCESS_TOKEN_CLAIMS = frozenset({"azp", "appid"})
"""Claims that name the application that requested the token, in v2.0 and v1.0. ID tokens have neither."""


class BearerTokens:
    """An `Identity` that accepts only tokens that the tenant signed for this app.

    Args:
        tenant: The tenant's id.
        client: The id of this app's registration.
        authority: The directory's URL.
        keys: The tenant's signing keys; closed by `aclose`.
        id_tokens: Whether ID tokens count as well, which say who has signed in to the app's registration, and no more.
        resource: Another name of the registration, for which tokens are issued too; None: it has none.
    """

    def __init__(
        self,
        tenant: str,
        client: str,
        authority: str,
        keys: SigningKeys,
        *,
        id_tokens: bool = False,
        resource: str | None = None,
    ) -> None:
        self._tenant = tenant
        self._takes_id_tokens = id_tokens
        self._audiences = [client, resource or f"api://{client}"]
        self._issuers = [f"{authority}/{tenant}/v2.0", f"https://sts.windows.net/{tenant}/"]
        self._keys = keys

    @classmethod
    def from_settings(cls, settings: Settings) -> "BearerTokens":
        """Make it for these settings, which were checked to be complete."""
        tenant, client = (settings.auth_tenant_id or "").lower(), (settings.auth_client_id or "").lower()
        authority, keys = _authority(settings, tenant)
        return cls(tenant, client, authority, keys, id_tokens=settings.auth_id_tokens)

    @classmethod
    def for_bot(cls, settings: Settings) -> "BearerTokens":
        """Make what checks the tokens that Teams gets for users of the bot of these settings."""
        tenant, client = (settings.bot_tenant_id or "").lower(), (settings.auth_client_id or "").lower()
        authority, keys = _authority(settings, tenant)
        return cls(tenant, client, authority, keys, resource=settings.bot_sso_resource)

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the user of the request's token.

        Raises:
            NotSignedIn: there is no token, or it is not valid; says why.
            Unavailable: the tenant's keys are not available now.
        """
        scheme, _, token = (only_header(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotSignedIn("Sign in: send an access token of Microsoft Entra ID (Authorization: Bearer …).")
        return (await self.user(token.strip(" ")))[0]

    async def user(self, token: str) -> tuple[Caller, float]:
        """Return the user of a token, and when it expires, as a Unix time.

        Raises:
            NotSignedIn, Unavailable: as `caller` raises them.
        """
        claims = await verified_claims(
            token,
            self._keys,
            issuers=self._issuers,
            audience=self._audiences,
            leeway=_CLOCK_LEEWAY_SECONDS,
            options={"require": _REQUIRED_CLAIMS},
        )
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
        return caller_of(claims.items(), self._tenant), float(claims["exp"])

    async def check(self) -> PartHealth:
        """Report that callers have to sign in. Whether they can is not tested."""
        return PartHealth("bearer", ok=True, detail="Callers have to sign in.")

    async def aclose(self) -> None:
        """Close the connections to the directory."""
        await self._keys.aclose()


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


def _authority(settings: Settings, tenant: str) -> tuple[str, SigningKeys]:
    """Return the directory's URL, and the keys of a tenant of it."""
    authority = settings.auth_authority.rstrip("/")
    return authority, SigningKeys(f"{authority}/{tenant}/discovery/v2.0/keys")
