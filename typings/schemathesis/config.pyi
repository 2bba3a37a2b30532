from collections.abc import Mapping
from typing import Self

class SchemathesisConfig:
    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self: ...
