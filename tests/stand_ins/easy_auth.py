"""What App Service Authentication sends on: the user who signed in, as a header."""

import json
from base64 import b64encode

from tests.stand_ins.entra import ADA, TENANT

IN_FRONT = {"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True"}
"""The environment of an app behind it."""
OBJECT_ID = "http://schemas.microsoft.com/identity/claims/objectidentifier"
TENANT_ID = "http://schemas.microsoft.com/identity/claims/tenantid"


def encoded(claims: list[tuple[str, str | None]], auth_typ: str = "aad") -> str:
    """The header's value for these claims."""
    principal = {
        "auth_typ": auth_typ,
        "claims": [{"typ": name, "val": value} for name, value in claims],
        "name_typ": "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
        "role_typ": "http://schemas.microsoft.com/ws/2008/06/identity/claims/role",
    }
    return b64encode(json.dumps(principal).encode()).decode()


def principal(oid: str = ADA, *groups: str, tenant: str = TENANT) -> dict[str, str]:
    """The headers for a user of the directory."""
    claims: list[tuple[str, str | None]] = [(OBJECT_ID, oid), (TENANT_ID, tenant), *(("groups", one) for one in groups)]
    return {"X-MS-CLIENT-PRINCIPAL": encoded(claims), "X-MS-CLIENT-PRINCIPAL-ID": oid}
