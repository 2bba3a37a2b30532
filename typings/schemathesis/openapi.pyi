from collections.abc import Callable, Mapping
from typing import Any

from schemathesis.config import SchemathesisConfig

class OpenApiSchema:
    def parametrize[F: Callable[..., None]](self) -> Callable[[F], F]: ...

def from_dict(schema: Mapping[str, Any], *, config: SchemathesisConfig | None = None) -> OpenApiSchema: ...
