from collections.abc import Mapping
from typing import Any

from schemathesis import openapi as openapi
from schemathesis.core.transport import Response as Response

class Case:
    path: str
    method: str
    media_type: str | None
    body: Any
    path_parameters: Mapping[str, object] | None
    def call(self, base_url: str | None = None) -> Response: ...
    def validate_response(self, response: Response) -> None: ...
