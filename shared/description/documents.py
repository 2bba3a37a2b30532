"""Both documents as bytes, made when the first asks and kept: they do not change while the app runs.

Making them takes a while, so callers on the event loop do it in a thread.
"""

import os
from functools import cache

from shared.wire.framing import encode_json


@cache
def openapi_json() -> bytes:
    """`GET /openapi.json`."""
    from shared.description.openapi import build_openapi

    return encode_json(build_openapi(signed_in=_signed_in()))


@cache
def swagger_json() -> bytes:
    """`GET /swagger.json`; its host is `WEBSITE_HOSTNAME`, which the platform sets and no caller can."""
    from shared.description.openapi import build_openapi
    from shared.description.swagger import to_swagger

    return encode_json(to_swagger(build_openapi(signed_in=_signed_in()), os.environ.get("WEBSITE_HOSTNAME")))


def _signed_in() -> bool:
    """Whether callers have to be; told even where the settings as a whole are wrong."""
    return os.environ.get("AUTH_MODE", "").strip() not in ("", "none")
