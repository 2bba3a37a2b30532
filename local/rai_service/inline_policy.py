"""Policies that a client sends with its session: they name the tasks and what blocks; the words are those of our file.

A task that the client does not name is not done, as with the real service.
"""

import re
from collections.abc import Mapping
from copy import replace
from typing import cast

from local.rai_service.policy import HARM_CATEGORY, Policy, Task
from shared.chat_types import Json
from shared.errors import BadRequest
from shared.guard import Side

_HIGHEST_SEVERITY = 7


def apply_inline_policy(inline: Mapping[str, Json], words: Policy) -> Policy:
    """Make the policy of a session.

    Args:
        inline: A `SafetyPolicy` as JSON.
        words: Policy file with the words and patterns.

    Raises:
        BadRequest: a task is not valid; names the key.
    """
    tasks: dict[str, Task] = {}
    for index, setting in enumerate(_objects(inline.get("taskSettings"))):
        if setting.get("settingEnabled") is True:
            task = _task(setting, words, f"taskSettings[{index}]")
            before = tasks.get(task.name)
            tasks[task.name] = replace(task, blocks_from={**before.blocks_from, **task.blocks_from}) if before else task
    return replace(words, name=str(inline.get("name", "")), tasks=tasks)


def _task(setting: Mapping[str, Json], words: Policy, path: str) -> Task:
    category = _object(setting.get("harmCategoryTaskSetting")).get("harmCategory") or ""
    kind = setting.get("kind") or ""
    wanted = category or kind
    if not wanted:
        raise BadRequest(f"{path} says neither a kind nor a harm category.")
    criteria = _object(setting.get("blockingCriteria"))
    known = next((task for name, task in words.tasks.items() if _plain(name) == _plain(wanted)), None)
    blocks_from = _blocks_from(criteria, graded=known is None or known.kind == HARM_CATEGORY)
    sources = _sides(setting, path)
    if known:
        return replace(known, blocks_from=dict.fromkeys(sources, blocks_from))
    name = str(wanted).upper()
    return Task(
        kind=HARM_CATEGORY if category else name,
        category=name if category else "",
        blocks_from=dict.fromkeys(sources, blocks_from),
        known=False,
    )


def _blocks_from(criteria: Mapping[str, Json], *, graded: bool) -> int | None:
    """Lowest severity that blocks; 0 for a task without severities, None if nothing blocks."""
    if criteria.get("enabled") is not True:
        return None
    allowed = criteria.get("allowedSeverity")
    if not graded:
        return 0
    return allowed + 1 if isinstance(allowed, int) and allowed < _HIGHEST_SEVERITY else None


def _sides(setting: Mapping[str, Json], path: str) -> list[Side]:
    """Sides that a task applies to, for all roles; both if it names none."""
    applied = _objects(setting.get("appliedFor"))
    named = {_plain(each.get("source") or "").removeprefix("source") for each in applied} - {""}
    found = [side for side in Side if side.lower() in named]
    if len(found) < len(named):
        raise BadRequest(f"{path}.appliedFor has a source that is neither prompt nor completion.")
    return found or list(Side)


def _plain(name: Json) -> str:
    """A name in the form in which names are compared: `selfHarm`, `SELF_HARM` and `self-harm` are the same."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[dict[str, Json]]:
    return (
        [cast("dict[str, Json]", each) for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    )
