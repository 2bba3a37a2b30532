"""`AUTH_MODE=bearer`: checks the Microsoft Entra ID tokens that callers send. Imports PyJWT: import it late.

Source: Microsoft identity platform, 'Validate tokens'; RFC 6750; RFC 8725.
"""

from collections.abc import Mapping
from typing import Any

import jwt

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import bearer_token, caller_of
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
        settings: The settings, which were checked to be complete.
        for_bot: Whether the tokens are those that Teams gets for users of the bot of these settings.
    """

    health = PartHealth("bearer", ok=True, detail="Callers have to sign in.")

    def __init__(self, settings: Settings, *, for_bot: bool = False) -> None:
        tenant = (settings.bot_tenant_id if for_bot else settings.auth_tenant_id) or ""
        client, authority = (settings.auth_client_id or "").lower(), settings.auth_authority.rstrip("/")
        self._tenant = tenant.lower()
        self._takes_id_tokens = settings.auth_id_tokens and not for_bot
        resource = settings.bot_sso_resource if for_bot else None
        self._audiences = [client, resource or f"api://{client}"]
        self.issuers = [f"{authority}/{self._tenant}/v2.0", f"https://sts.windows.net/{self._tenant}/"]
        """Who issues tokens of the tenant, v2.0 and v1.0."""
        named = f"AUTH_AUTHORITY and {'BOT' if for_bot else 'AUTH'}_TENANT_ID"
        self.keys = SigningKeys(f"{authority}/{self._tenant}/discovery/v2.0/keys", named)
        self.aclose = self.keys.aclose

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the user of the request's token.

        Raises:
            NotSignedIn: there is no token, or it is not valid; says why.
            Unavailable: the tenant's keys are not available now.
        """
        advice = "Sign in: send an access token of Microsoft Entra ID (Authorization: Bearer …)."
        return (await self.user(bearer_token(headers, advice)))[0]

    async def user(self, token: str) -> tuple[Caller, float]:
        """Return the user of a token, and when it expires, as a Unix time.

        Raises:
            NotSignedIn, Unavailable: as `caller` raises them.
        """
        claims = await verified_claims(
            token,
            self.keys,
            issuers=self.issuers,
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
