"""The app's two documents, as it serves them where nobody signs in and its name is not known."""

import json
from typing import Any

from shared.description import openapi_json, swagger_json

OPENAPI: dict[str, Any] = json.loads(openapi_json("none"))
SWAGGER: dict[str, Any] = json.loads(swagger_json("none", None))
