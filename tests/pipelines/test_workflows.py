"""The pipelines run what the project has, without secrets, and let in no text of others."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
GITHUB = {file.name: file for file in (ROOT / ".github" / "workflows").glob("*.yml")}
AZURE = {file.name: file for file in (ROOT / ".azdo" / "pipelines").glob("*.yml")}
FILES = [*GITHUB.values(), *AZURE.values()]


def _read(file: Path) -> dict[Any, Any]:
    return yaml.safe_load(file.read_text())


def _steps(name: str) -> dict[str, str]:
    """The scripts of a workflow's only job, by their names."""
    (job,) = _read(GITHUB[name])["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def test_the_files_have_the_names_that_azd_looks_for() -> None:
    assert "azure-dev.yml" in GITHUB
    assert "azure-dev.yml" in AZURE


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_files_that_they_run_are_there(file: Path) -> None:
    named = re.findall(
        r"(?:tools/\S+\.py|\.ci/run|(?<=uses: \./)\S+|(?<=template: )\S+|(?<=folder )samples/\S+)", file.read_text()
    )
    missing = [name for name in named if not any((base / name).exists() for base in (ROOT, file.parent))]
    assert named
    assert not missing


@pytest.mark.parametrize("name", GITHUB)
def test_actions_of_others_are_named_by_their_commit(name: str) -> None:
    """A tag can be moved to other code."""
    used = re.findall(r"uses: (?!\./)(.+)", GITHUB[name].read_text())
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one)] == []


def test_every_folder_with_packages_of_npm_is_looked_at_for_new_ones() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    (npm,) = (one["directories"] for one in updates if one["package-ecosystem"] == "npm")
    command = ["git", "ls-files", "*package-lock.json"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert npm == sorted(f"/{Path(file).parent}" for file in listed.stdout.split())


@pytest.mark.parametrize("name", GITHUB)
def test_each_workflow_may_only_read_and_ask_for_a_token(name: str) -> None:
    workflow = _read(GITHUB[name])
    assert workflow["permissions"] == {"contents": "read", "id-token": "write"}
    writers = {
        job: one["permissions"] for job, one in workflow["jobs"].items() if "write" in str(one.get("permissions"))
    }
    assert writers == ({"publish": {"contents": "write"}} if name == "release.yml" else {})


def test_a_caller_of_deploy_lets_it_ask_for_a_token() -> None:
    """A called workflow has at most the rights of its caller: without this one, nothing signs in."""
    for name, file in GITHUB.items():
        for job in _read(file)["jobs"].values():
            if "uses" in job:
                assert job.get("permissions", _read(file)["permissions"])["id-token"] == "write", name


def test_azd_gets_each_variable_that_is_set_and_no_others(tmp_path: Path) -> None:
    """An object is given as JSON, and a variable that is empty or of something else does not arrive."""
    settings = '{"CHAT_AGENT": "Researcher"}'
    variables = {"AZURE_ENV_NAME": "a", "DEPLOY_MORE_SETTINGS": settings, "DOCUMENTS": "docs", "PATH": "mine"}
    assert _taken_over(tmp_path, variables) == ["AZURE_ENV_NAME=a", f"DEPLOY_MORE_SETTINGS={settings}"]


def test_a_variable_cannot_bring_another_one_in_a_second_line(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        _taken_over(tmp_path, {"DEPLOY_PLAYGROUND": "on\nPATH=mine"})


def _taken_over(folder: Path, variables: dict[str, str]) -> list[str]:
    """The lines that the step of `deploy.yml` adds to the environment of those that follow."""
    environment = {"VARIABLES": json.dumps(variables), "GITHUB_ENV": str(folder / "env")}
    script = _steps("deploy.yml")["Take over the variables for azd"]
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, timeout=60)
    return (folder / "env").read_text().splitlines()
