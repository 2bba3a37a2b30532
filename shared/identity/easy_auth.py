"""`AUTH_MODE=easy-auth`: App Service Authentication, in front of the app, checks the sign-in and sends it in a header.

It removes this header from requests of its callers, and the settings refuse this mode unless it is in front.

Source: Azure App Service, 'Work with user identities', 'Decoding the client principal header'.
"""

from base64 import b64decode
from collections.abc import Mapping

import msgspec

from shared.chat_types import Caller, PartHealth
from shared.errors import NotSignedIn
from shared.identity.claims import caller_of, only_header

PRINCIPAL = "x-ms-client-principal"
"""Name of the header. Its value is a `_Principal` as JSON in Base64."""
_ENTRA_ID = "aad"
"""Value of `auth_typ` for Microsoft Entra ID."""


class _Claim(msgspec.Struct):
    typ: str
    val: str | None = None


class _Principal(msgspec.Struct):
    auth_typ: str
    claims: list[_Claim]


class EasyAuth:
    """An `Identity` that reads only the header of App Service Authentication.

    Args:
        tenant: Id of the only tenant whose users are accepted; None: all users that the platform accepts.
    """

    health = PartHealth("easy-auth", ok=True, detail="Callers have to sign in.")

    def __init__(self, tenant: str | None = None) -> None:
        self._tenant = tenant

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the user who signed in with Microsoft Entra ID.

        Raises:
            NotSignedIn: the caller is not signed in, or the header cannot be read.
        """
        header = only_header(headers, PRINCIPAL)
        if not header:
            raise NotSignedIn("Sign in: this app is only for users who are signed in.")
        principal = _read(header)
        if principal.auth_typ != _ENTRA_ID:
            raise NotSignedIn("Sign in with Microsoft Entra ID: this app accepts no other sign-in.", refused=True)
        return caller_of([(claim.typ, claim.val) for claim in principal.claims], self._tenant)


def _read(header: str) -> _Principal:
    """Decode the header, from either alphabet of Base64, padded or not."""
    text = header.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return msgspec.json.decode(b64decode(text + "=" * (-len(text) % 4), validate=True), type=_Principal)
    except (ValueError, RecursionError) as exc:
        raise NotSignedIn("The sign-in cannot be read: sign in again.", refused=True) from exc
