"""Writes small Function Apps for the host to serve."""

import json
from pathlib import Path
from textwrap import dedent

OUR_EXTENSION = "shared.web.http_extension"
MICROSOFTS_EXTENSION = "azurefunctions.extensions.http.fastapi"

_IMPORTS = """\
import asyncio
import os

import azure.functions as func
import {extension}
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
"""


def write_app(
    directory: Path,
    functions: str,
    *,
    host: dict[str, object] | None = None,
    local_settings: dict[str, object] | None = None,
    extension: str = OUR_EXTENSION,
) -> Path:
    """Write `function_app.py` (the usual imports and `app` come first), `host.json` and the settings."""
    (directory / "function_app.py").write_text(f"{_IMPORTS.format(extension=extension)}\n{dedent(functions)}", "utf-8")
    (directory / "host.json").write_text(json.dumps({"version": "2.0"} | (host or {})), "utf-8")
    if local_settings is not None:
        (directory / "local.settings.json").write_text(json.dumps({"IsEncrypted": False} | local_settings), "utf-8")
    return directory
