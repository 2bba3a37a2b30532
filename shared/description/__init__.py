"""The app's description for tools: `GET /openapi.json` (OpenAPI 3.1) and `GET /swagger.json` (Swagger 2.0).

The files beside this one are made by `make docs` (`tools/description/`) from what each route says of itself. They are
those of an app at which callers sign in with Microsoft Entra ID; what the settings change in them is put in here.
"""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shared.runtime.host_file import ROUTE_PREFIX
from shared.wire.framing import encode_json

type _Object = dict[str, Any]
_API_KEY = "An API key of this app."


@cache
def openapi_json(auth_mode: str) -> bytes:
    """Return the OpenAPI document, made once per process: call it in a thread.

    Its server is a relative URL, since the app does not know its public name.

    Args:
        auth_mode: `AUTH_MODE`, how callers sign in.
    """
    document = _read("openapi.json")
    document["servers"] = [{"url": f"/{ROUTE_PREFIX}"}]
    _set_sign_in(document, document["components"], "securitySchemes", auth_mode, _API_KEY)
    return encode_json(document)


@cache
def swagger_json(auth_mode: str, url: str | None) -> bytes:
    """Return the Swagger document, made once per process: call it in a thread.

    Args:
        auth_mode: `AUTH_MODE`, how callers sign in.
        url: The URL of the app's routes. None: only the path is known, and readers use the host of the document's URL.
    """
    document = _read("swagger.json")
    if url:
        known = urlsplit(url)
        document |= {"host": known.netloc, "schemes": [known.scheme], "basePath": known.path or "/"}
    else:
        del document["host"], document["schemes"]
        document["basePath"] = f"/{ROUTE_PREFIX}"
    _set_sign_in(document, document, "securityDefinitions", auth_mode, f"{_API_KEY} Send it as 'Bearer …'.")
    return encode_json(document)


def _read(name: str) -> _Object:
    return msgspec.json.decode((Path(__file__).parent / name).read_bytes())


def _set_sign_in(document: _Object, parent: _Object, key: str, auth_mode: str, api_key: str) -> None:
    """Describe an API key in place of a token, or nothing if nobody signs in."""
    if auth_mode == "api-key":
        for scheme in parent[key].values():
            scheme.pop("bearerFormat", None)
            scheme["description"] = api_key
    elif auth_mode == "none":
        del parent[key], document["security"]
        for methods in document["paths"].values():
            for operation in methods.values():
                operation.pop("security", None)
