"""Just what the history uses; the package's own types are unknown where they take `**kwargs`."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

class TableEntity(dict[str, Any]):
    @property
    def metadata(self) -> Mapping[str, Any]: ...

class UpdateMode(str, Enum):
    REPLACE = "replace"
    MERGE = "merge"
