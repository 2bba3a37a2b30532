"""`AUTH_MODE=easy-auth`: App Service Authentication is in front, checks who signs in, and says so in a header.

It removes that header from requests that bring their own, and the settings refuse this mode where it is not in front.

Source: Azure App Service, 'Work with user identities', 'Decoding the client principal header'.
"""

from base64 import b64decode
from collections.abc import Mapping

import msgspec

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import caller_of, only_header

PRINCIPAL = "x-ms-client-principal"
"""The header: a `_Principal` in JSON, in Base64."""
_ENTRA_ID = "aad"


class _Claim(msgspec.Struct):
    typ: str
    val: str | None = None


class _Principal(msgspec.Struct):
    auth_typ: str
    claims: list[_Claim]


class EasyAuth:
    """Believes App Service Authentication, and no other header.

    Args:
        tenant: The only one whose users may come in; None: those that the platform lets in.
    """

    def __init__(self, tenant: str | None = None) -> None:
        self._tenant = tenant

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Who signed in with Microsoft Entra ID.

        Raises:
            NotSignedIn: nobody did, or the header cannot be read.
        """
        header = only_header(headers, PRINCIPAL)
        if not header:
            raise NotSignedIn("Sign in: this app is for those only who are signed in.")
        principal = _read(header)
        if principal.auth_typ != _ENTRA_ID:
            raise NotSignedIn("Sign in with Microsoft Entra ID: this app knows no other users.", refused=True)
        return caller_of([(claim.typ, claim.val) for claim in principal.claims], self._tenant)

    async def check(self) -> PartHealth:
        """Who calls has to sign in; whether that works is seen when somebody does."""
        return PartHealth("easy-auth", ok=True, detail="Callers have to sign in.")


def _read(header: str) -> _Principal:
    """The header's principal, from either alphabet of Base64, padded or not."""
    text = header.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return msgspec.json.decode(b64decode(text + "=" * (-len(text) % 4), validate=True), type=_Principal)
    except (ValueError, RecursionError) as exc:
        raise NotSignedIn("The sign-in cannot be read: sign in again.", refused=True) from exc
