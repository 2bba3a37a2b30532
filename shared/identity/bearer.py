"""`AUTH_MODE=bearer`: callers send a token of Microsoft Entra ID, which is checked here. Imports PyJWT: import it late.

Source: Microsoft identity platform, 'Validate tokens'; RFC 6750; RFC 8725.
"""

from collections.abc import Mapping
from typing import Any

import jwt

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import caller_of, only_header
from shared.identity.signing_keys import ALGORITHM, SigningKeys
from shared.settings import Settings

_LEEWAY_SECONDS = 60
"""How far the clocks of this machine and of the directory may be apart."""
_REQUIRED = ["aud", "exp", "iat", "iss", "nbf", "oid", "tid"]
_OF_ACCESS_TOKENS = frozenset({"azp", "appid"})
"""The application that asked for the token, in v2.0 and v1.0: an ID token, which is not for APIs, does not name it."""

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
"""What the caller is told; the nearest class counts."""


class BearerTokens:
    """Believes tokens that the tenant signed for this app, and nothing else.

    Args:
        tenant: Its id.
        client: The id of this app's registration.
        authority: The directory's address.
        keys: The tenant's; closed with this.
    """

    def __init__(self, tenant: str, client: str, authority: str, keys: SigningKeys) -> None:
        self._tenant = tenant
        self._audiences = [client, f"api://{client}"]
        self._issuers = [f"{authority}/{tenant}/v2.0", f"https://sts.windows.net/{tenant}/"]
        self._keys = keys

    @classmethod
    def from_settings(cls, settings: Settings) -> "BearerTokens":
        """As the settings have it, which have been checked to be complete."""
        tenant, client = (settings.auth_tenant_id or "").lower(), (settings.auth_client_id or "").lower()
        authority = settings.auth_authority.rstrip("/")
        return cls(tenant, client, authority, SigningKeys(f"{authority}/{tenant}/discovery/v2.0/keys"))

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Whose token came with a request.

        Raises:
            NotSignedIn: none came, or it does not hold; says why.
            Unavailable: the tenant's keys are not known now.
        """
        scheme, _, token = (only_header(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer":
            raise NotSignedIn("Sign in: send an access token of Microsoft Entra ID (Authorization: Bearer …).")
        claims = await self._claims(token.strip(" "))
        if not _OF_ACCESS_TOKENS & claims.keys():
            raise NotSignedIn("This is an ID token: send an access token for this app.", refused=True)
        if not _has_permission(claims):
            raise NotSignedIn(
                "The token carries no permission for this app: ask for one of its scopes, or have one of its app roles "
                "assigned to the application that calls.",
                refused=True,
            )
        return caller_of(claims.items(), self._tenant)

    async def check(self) -> PartHealth:
        """Who calls has to sign in; whether that works is seen when somebody does."""
        return PartHealth("bearer", ok=True, detail="Callers have to sign in.")

    async def aclose(self) -> None:
        """Close the connections to the directory."""
        await self._keys.aclose()

    async def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != ALGORITHM:  # a token that cannot hold is not worth a fetch of the keys
                raise jwt.InvalidAlgorithmError
            key = await self._keys.key(header.get("kid", ""))
            return jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=self._audiences,
                issuer=self._issuers,
                leeway=_LEEWAY_SECONDS,
                options={"require": _REQUIRED},
            )
        except jwt.PyJWTError as exc:
            # Not the cause: its text may quote the token.
            raise NotSignedIn(_sentence(exc), refused=True) from None


def _has_permission(claims: dict[str, Any]) -> bool:
    """Whether it names a scope or an app role. One without is had by every application of the tenant.

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
