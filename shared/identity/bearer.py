"""`AUTH_MODE=bearer`: checks the Microsoft Entra ID tokens that callers send. Imports PyJWT: import it late.

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

_CLOCK_LEEWAY_SECONDS = 60
"""Largest accepted difference between the clocks of this machine and of the directory."""
_REQUIRED_CLAIMS = ["aud", "exp", "iat", "iss", "nbf", "oid", "tid"]
_ACCESS_TOKEN_CLAIMS = frozenset({"azp", "appid"})
"""Claims that name the application that requested the token, in v2.0 and v1.0. ID tokens, which are not for APIs, have
neither."""

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
    """

    def __init__(self, tenant: str, client: str, authority: str, keys: SigningKeys) -> None:
        self._tenant = tenant
        self._audiences = [client, f"api://{client}"]
        self._issuers = [f"{authority}/{tenant}/v2.0", f"https://sts.windows.net/{tenant}/"]
        self._keys = keys

    @classmethod
    def from_settings(cls, settings: Settings) -> "BearerTokens":
        """Make it for these settings, which were checked to be complete."""
        tenant, client = (settings.auth_tenant_id or "").lower(), (settings.auth_client_id or "").lower()
        authority = settings.auth_authority.rstrip("/")
        return cls(tenant, client, authority, SigningKeys(f"{authority}/{tenant}/discovery/v2.0/keys"))

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
        if not _ACCESS_TOKEN_CLAIMS & claims.keys():
            raise NotSignedIn("This is an ID token: send an access token for this app.", refused=True)
        if not _has_permission(claims):
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
