"""A policy from `RAI_POLICY`: which severities block."""

import json
from pathlib import Path

import pytest

from shared.chat_types import Json
from shared.errors import NotConfigured
from shared.guard import Side
from shared.guard.content_safety.severity_policy import CATEGORIES, SeverityPolicy, read_severity_policy


def task(category: str = "hate", *sources: str, allowed: Json = 1, **more: Json) -> dict[str, Json]:
    return {
        "settingId": "1",
        "settingEnabled": True,
        "appliedFor": [{"role": "user", "source": source} for source in sources],
        "kind": "harmCategory",
        "harmCategoryTaskSetting": {"harmCategory": category},
        "blockingCriteria": {"enabled": True, "kind": "severity", "allowedSeverity": allowed},
        **more,
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.json"


def read(file: Path, *tasks: Json) -> SeverityPolicy:
    file.write_text(json.dumps({"name": "ours", "taskSettings": [*tasks]}))
    return read_severity_policy(str(file))


def blocked_from(policy: SeverityPolicy, source: Side, category: str) -> int | None:
    highest = policy.get((source, category), 7)
    return None if highest == 7 else highest + 1


def test_the_default_blocks_from_severity_4_on_both_sides() -> None:
    policy = read_severity_policy("default")
    assert {blocked_from(policy, source, category) for source in Side for category in CATEGORIES} == {4}


@pytest.mark.parametrize("name", ["selfharm", "self_harm", "SELF_HARM", "selfHarm"])
def test_a_category_goes_by_each_of_its_spellings(file: Path, name: str) -> None:
    assert blocked_from(read(file, task(name)), Side.PROMPT, "SELF_HARM") == 2


@pytest.mark.parametrize("name", ["prompt", "PROMPT", "SOURCE_PROMPT"])
def test_a_task_applies_to_the_side_that_it_names(file: Path, name: str) -> None:
    policy = read(file, task("hate", name))
    assert blocked_from(policy, Side.PROMPT, "HATE") == 2
    assert blocked_from(policy, Side.COMPLETION, "HATE") is None


def test_what_a_policy_does_not_name_or_has_switched_off_never_blocks(file: Path) -> None:
    off: Json = {"enabled": False, "kind": "severity", "allowedSeverity": 0}
    policy = read(file, task("hate", settingEnabled=False), task("sexual", blockingCriteria=off), task("violence"))
    found = {category: blocked_from(policy, Side.PROMPT, category) for category in CATEGORIES}
    assert found == {"HATE": None, "SELF_HARM": None, "SEXUAL": None, "VIOLENCE": 2}


def test_of_two_tasks_for_the_same_the_stricter_counts(file: Path) -> None:
    assert blocked_from(read(file, task(allowed=1), task(allowed=5)), Side.PROMPT, "HATE") == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "policy.json"),
        ("[]", "policy.json"),
        ("{}", "taskSettings"),
        ('{"taskSettings": []}', "taskSettings"),
        (json.dumps({"taskSettings": [task("jailbreak")]}), "taskSettings.0.*hate.*selfharm"),
        (json.dumps({"taskSettings": [task(kind="jailbreak")]}), "taskSettings.0.kind"),
        (json.dumps({"taskSettings": [task(), task(allowed=8)]}), "taskSettings.1.blockingCriteria.allowedSeverity"),
        (json.dumps({"taskSettings": [task(allowed=True)]}), "allowedSeverity"),
        (json.dumps({"taskSettings": [task("hate", "both")]}), "taskSettings.0.appliedFor.*prompt.*completion"),
        (json.dumps({"taskSettings": [task(typo=1)]}), "taskSettings.0.typo"),
    ],
)
def test_a_file_that_is_no_policy_is_named_with_its_key(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    with pytest.raises(NotConfigured, match=f"RAI_POLICY.*{says}"):
        read_severity_policy(str(file))


@pytest.mark.parametrize(
    ("name", "says"), [("strict", "default"), ("folder/missing.json", "names missing.json, which cannot be read")]
)
def test_a_policy_that_is_not_there_is_named(name: str, says: str) -> None:
    with pytest.raises(NotConfigured, match=f"RAI_POLICY.*{says}"):
        read_severity_policy(name)
