"""Policy for Azure AI Content Safety, which only returns severities: says which of them block. Read from `RAI_POLICY`.

`default` blocks from severity 4, which Azure calls medium. A JSON file has the shape of the RAI service's inline
policy:

    {"taskSettings": [{"settingEnabled": true, "kind": "harmCategory", "appliedFor": [{"source": "prompt"}],
      "harmCategoryTaskSetting": {"harmCategory": "hate"},
      "blockingCriteria": {"enabled": true, "kind": "severity", "allowedSeverity": 1}}]}

Without `appliedFor` a task applies to both sides. A category that has no task is reported and never blocks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.errors import NotConfigured
from shared.guard import Side

CATEGORIES = ("HATE", "SELF_HARM", "SEXUAL", "VIOLENCE")
"""Categories of Azure AI Content Safety, by their names in our findings."""
_BY_NAME = {category.replace("_", "").lower(): category for category in CATEGORIES}
_SIDES = {side.value.lower(): side for side in Side}
_MOST_BYTES = 1_000_000


type SeverityPolicy = Mapping[tuple[Side, str], int]
"""The highest severity that may be shown, by side and category; one that is missing never blocks."""
DEFAULT_POLICY: SeverityPolicy = {(side, category): 3 for side in Side for category in CATEGORIES}
"""Lets pass what Azure calls safe and low."""
HIGHEST = 7
"""The highest severity that there is."""


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


def _plain(name: object) -> object:
    """Return a name in the one spelling that is compared."""
    return name.lower().removeprefix("source_").replace("_", "") if isinstance(name, str) else name


class _AppliedFor(_Model):
    role: str = ""
    source: Annotated[Literal["prompt", "completion"], BeforeValidator(_plain)]


class _HarmCategory(_Model):
    harm_category: Annotated[Literal["hate", "selfharm", "sexual", "violence"], BeforeValidator(_plain)] = Field(
        alias="harmCategory"
    )


class _BlockingCriteria(_Model):
    enabled: bool
    kind: Literal["severity"] = "severity"
    allowed_severity: int = Field(alias="allowedSeverity", ge=0, le=7)


class _TaskSetting(_Model):
    setting_id: str = Field(default="", alias="settingId")
    setting_enabled: bool = Field(alias="settingEnabled")
    applied_for: list[_AppliedFor] = Field(default=[], alias="appliedFor")
    kind: Literal["harmCategory"]
    harm_category_task_setting: _HarmCategory = Field(alias="harmCategoryTaskSetting")
    blocking_criteria: _BlockingCriteria | None = Field(default=None, alias="blockingCriteria")


class _Policy(_Model):
    name: str = ""
    task_settings: list[_TaskSetting] = Field(alias="taskSettings", min_length=1)


def read_severity_policy(name: str) -> SeverityPolicy:
    """Return the policy `default`, or read one from a JSON file.

    Raises:
        NotConfigured: there is no such policy, or the file has a fault; names the file and the key.
    """
    if name == "default":
        return DEFAULT_POLICY
    file = Path(name)
    if file.suffix.lower() != ".json":
        raise NotConfigured(
            "RAI_POLICY: Azure AI Content Safety knows only `default` and JSON files (ending in .json)."
        )
    try:
        with file.open("rb") as opened:
            policy = _Policy.model_validate_json(opened.read(_MOST_BYTES))
    except OSError:
        raise NotConfigured(f"RAI_POLICY names {file.name}, which cannot be read.") from None
    except ValidationError as invalid:
        first = invalid.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise NotConfigured(f"RAI_POLICY names {file.name}, which is no policy: {key}: {first['msg']}.") from None
    allowed: dict[tuple[Side, str], int] = {}
    for task in policy.task_settings:
        criteria = task.blocking_criteria
        if task.setting_enabled and criteria and criteria.enabled:
            category = _BY_NAME[task.harm_category_task_setting.harm_category]
            for side in [_SIDES[entry.source] for entry in task.applied_for] or Side:
                before = allowed.get((side, category), HIGHEST)
                allowed[side, category] = min(before, criteria.allowed_severity)
    return allowed
