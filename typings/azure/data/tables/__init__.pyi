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

class TableErrorCode(str, Enum):
    CONDITION_NOT_MET = "ConditionNotMet"
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists"
    RESOURCE_NOT_FOUND = "ResourceNotFound"
    UPDATE_CONDITION_NOT_SATISFIED = "UpdateConditionNotSatisfied"
