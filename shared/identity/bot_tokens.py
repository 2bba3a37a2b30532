"""Who signs activities: checks the tokens of Azure Bot Service, of applications of the bot's tenant, and of its users.

Imports PyJWT: import it late.

Source: Microsoft, 'Authentication with the Bot Connector API', connector to bot; 'Agents SDK', JWT validation.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import jwt
import msgspec

from shared.chat_types import Caller
from shared.errors import NotSignedIn
from shared.identity.claims import bearer_token
from shared.identity.signing_keys import SENTENCES, SigningKeys, verified_claims
from shared.settings import Settings

_CLOCK_LEEWAY_SECONDS = 300
"""Largest difference between the clocks; Bot Service's own value."""
_REQUIRED_CLAIMS = ["aud", "exp", "iss"]

type _User = Callable[[str], Awaitable[tuple[Caller, float]]]


class Signed(msgspec.Struct, frozen=True):
    """What a valid token says."""

    claims: Mapping[str, Any]
    """Its claims."""
    channels: frozenset[str] | None
    """The channels of which its key may sign activities; None: an application of the tenant has sent it."""


class BotTokens:
    """Accepts tokens for the bot of some settings, which were checked to be complete.

    Args:
        settings: The settings.
        keys: Those of the bot's tenant; closed by `aclose`.
        issuers: Who issues tokens of the tenant.
        user: Checks what single sign-on brings, as `BearerTokens.user` does; None: there is none.
    """

    def __init__(self, settings: Settings, keys: SigningKeys, issuers: Sequence[str], user: _User | None) -> None:
        self._bot = (settings.bot_id or "").lower()
        self._service = SigningKeys(settings.bot_openid_metadata, "BOT_OPENID_METADATA")
        self._directory, self._issuers, self._user = keys, issuers, user

    async def signed(self, headers: Mapping[str, str]) -> Signed:
        """Check the token of a request.

        Raises:
            NotSignedIn: there is none, or it is not valid; says why.
            Unavailable: the keys are not available now.
        """
        token = bearer_token(
            headers, "Activities come from Azure Bot Service, with its token (Authorization: Bearer …)."
        )
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

    async def groups(self, token: str, caller: Caller) -> tuple[tuple[str, ...], float]:
        """Check the token of single sign-on that a caller has sent; return its groups, and when it expires.

        Raises:
            NotSignedIn: it is not valid, of somebody else, or does not say the groups; says why.
            Unavailable: the keys are not available now.
        """
        if self._user is None:
            raise NotSignedIn("This bot has no single sign-on: BOT_SSO_RESOURCE is not set.")
        user, expires = await self._user(token)
        if caller.oid is None or (user.oid or "").lower() != caller.oid.lower():
            raise NotSignedIn("The token is of another user than the activity's.", refused=True)
        if user.groups is None:
            raise NotSignedIn("The token has no room for the user's groups: send those of this application only.")
        return user.groups, expires

    async def aclose(self) -> None:
        """Close the connections."""
        await self._service.aclose()
        await self._directory.aclose()
