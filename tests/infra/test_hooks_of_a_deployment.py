"""The hooks that make an app registration and fill the first index, with `az`, `azd`, `curl` and `make` recorded."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.infra.compiler import INFRA

HOOKS = INFRA / "hooks"
URL = "https://func-1.azurewebsites.net/api"
RECORDED = """#!/bin/sh
for one in "$@"; do printf '%s\\n' "$one"; done > "$RECORDS/$(ls "$RECORDS" | wc -l)-{name}"
{answer}
"""
ANSWERS = {
    "az": r"""case "$*" in
*'[id, appId]'*) printf 'object-1\tclient-1\n' ;;
*spa.redirectUris*) printf '%s' "${SPA:-}" ;;
esac""",
    "azd": """case "$*" in *'auth token'*) echo '{"token": "t-1", "expiresOn": "x"}' ;; esac""",
    "curl": 'printf "%s" "${BUDGETS:-$STATUS}"',
    "make": "",
}


class Machine:
    """A machine whose commands write down what they were called with."""

    def __init__(self, folder: Path) -> None:
        self._records, self._commands, self.folder = folder / "records", folder / "bin", folder
        self._records.mkdir()
        self._commands.mkdir()
        for name, answer in ANSWERS.items():
            (self._commands / name).write_text(RECORDED.format(name=name, answer=answer))
            (self._commands / name).chmod(0o755)

    def run(self, hook: str, *arguments: str, types: str | None = None, **environment: str) -> tuple[int, str]:
        """Run a hook; return its exit code and what it printed. With `types` somebody is at the keyboard."""
        ours, theirs = pty.openpty()
        if types is not None:
            os.write(ours, types.encode() + b"\n")
        path = f"{self._commands}:{os.environ['PATH']}"
        own = {"PATH": path, "RECORDS": str(self._records), "AZURE_ENV_NAME": "demo", "SWITCHBOARD_URL": URL}
        done = subprocess.run(
            [HOOKS / hook, *arguments],
            cwd=self.folder,
            env={**own, **environment},
            stdin=subprocess.DEVNULL if types is None else theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        os.close(ours)
        os.close(theirs)
        return done.returncode, done.stdout

    def called(self, name: str) -> list[list[str]]:
        """The arguments of each call of a command."""
        files = sorted(self._records.glob(f"*-{name}"), key=lambda file: int(file.name.split("-")[0]))
        return [file.read_text().splitlines() for file in files]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def body(call: list[str]) -> dict[str, Any]:
    """The JSON that a call of `az rest` sends."""
    sent = "\n".join(call[call.index("--body") + 1 :])
    return json.JSONDecoder().raw_decode(sent)[0]


def test_a_registration_is_made_with_a_scope_for_users_and_a_role_for_services(machine: Machine) -> None:
    assert machine.run("sign-in.sh", "before", types="yes", DEPLOY_AUTH_MODE="bearer")[0] == 0
    made, named, principal = machine.called("az")
    said = body(made)
    assert said["displayName"] == "Switchboard (demo)"
    api, (role,) = said["api"], said["appRoles"]
    assert api["requestedAccessTokenVersion"] == 2
    assert [scope["value"] for scope in api["oauth2PermissionScopes"]] == [role["value"]] == ["chat"]
    assert api["oauth2PermissionScopes"][0]["id"] != role["id"]
    assert "secret" not in str(said).lower()
    assert named[4].endswith("/applications/object-1")
    assert body(named) == {"identifierUris": ["api://client-1"]}
    assert body(principal) == {"appId": "client-1"}
    kept = [call[2:] for call in machine.called("azd")]
    assert kept == [["AUTH_REGISTRATION", "object-1"], ["DEPLOY_AUTH_CLIENT_ID", "client-1"]]


@pytest.mark.parametrize(
    ("types", "environment"),
    [
        ("no", {"DEPLOY_AUTH_MODE": "bearer"}),
        (None, {"DEPLOY_AUTH_MODE": "bearer"}),
        ("yes", {"DEPLOY_AUTH_MODE": "api-key"}),
        ("yes", {"DEPLOY_AUTH_MODE": "none"}),
        ("yes", {}),
        ("yes", {"DEPLOY_AUTH_MODE": "easy-auth", "DEPLOY_AUTH_CLIENT_ID": "mine"}),
    ],
)
def test_none_is_made_unless_one_is_needed_and_whoever_is_there_agrees(
    machine: Machine, types: str | None, environment: dict[str, str]
) -> None:
    assert machine.run("sign-in.sh", "before", types=types, **environment)[0] == 0
    assert machine.called("az") == machine.called("azd") == []


def test_the_page_may_sign_in_at_the_registration_that_was_made_and_at_no_other(machine: Machine) -> None:
    for registration in ("", "object-1"):
        environment = {"DEPLOY_AUTH_MODE": "bearer", "AUTH_REGISTRATION": registration}
        assert machine.run("sign-in.sh", "after", **environment)[0] == 0
    *reads, call = machine.called("az")
    assert [read[2] for read in reads] == ["GET", "GET"]
    assert call[4].endswith("/applications/object-1")
    said = body(call)
    assert said["spa"] == {"redirectUris": [f"{URL}/"]}
    assert f"{URL.removesuffix('/api')}/.auth/login/aad/callback" in str(said["web"])


def test_an_address_that_somebody_added_to_the_registration_stays_there(machine: Machine) -> None:
    own = "https://chat.contoso.com/api/"
    environment = {"DEPLOY_AUTH_MODE": "bearer", "AUTH_REGISTRATION": "object-1", "SPA": f"{own}\n{URL}/\n"}
    assert machine.run("sign-in.sh", "after", **environment)[0] == 0
    assert body(machine.called("az")[-1])["spa"] == {"redirectUris": [own, f"{URL}/"]}


BUDGETS = {
    "value": [
        {"name": "of-somebody", "properties": {"timePeriod": {"startDate": "2025-01-01T00:00:00Z"}}},
        {"name": "budget-5ss", "properties": {"amount": 5, "timePeriod": {"startDate": "2026-08-01T00:00:00Z"}}},
    ]
}


@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({"BUDGETS": json.dumps(BUDGETS)}, ["2026-08-01"]),
        ({"BUDGETS": json.dumps(BUDGETS, indent=2)}, ["2026-08-01"]),
        ({"BUDGETS": '{"value": []}'}, []),
        ({"BUDGETS": '{"error": {"code": "ResourceGroupNotFound"}}'}, []),
        ({"BUDGETS": json.dumps(BUDGETS), "DEPLOY_BUDGET_START": "2026-09-01"}, []),
        ({"BUDGETS": json.dumps(BUDGETS), "DEPLOY_MONTHLY_BUDGET": "0"}, []),
    ],
)
def test_a_pipeline_finds_the_month_of_the_budget(
    machine: Machine, environment: dict[str, str], kept: list[str]
) -> None:
    own = {"DEPLOY_MONTHLY_BUDGET": "100", "AZURE_SUBSCRIPTION_ID": "s-1"}
    assert machine.run("budget-start.sh", **{**own, **environment})[0] == 0
    sets = [call[2:] for call in machine.called("azd") if call[:2] == ["env", "set"]]
    assert sets == [["DEPLOY_BUDGET_START", one] for one in kept]
    for asked in machine.called("curl"):
        assert asked[-1].startswith("https://management.azure.com/subscriptions/s-1/resourceGroups/rg-demo/")


@pytest.mark.parametrize(
    ("status", "environment", "indexed"),
    [
        ("404", {}, "samples/documents"),
        ("200", {}, None),
        ("404", {"DOCUMENTS": "my docs"}, "my docs"),
        ("200", {"DOCUMENTS": "my docs"}, "my docs"),
        ("404", {"DOCUMENTS": "none"}, None),
        ("404", {"DEPLOY_PRIVATE_NETWORK": "true"}, None),
        ("404", {"DEPLOY_EXISTING_SEARCH_NAME": "theirs"}, None),
        ("200", {"DEPLOY_EXISTING_SEARCH_NAME": "theirs", "DOCUMENTS": "docs"}, "docs"),
    ],
)
def test_the_first_index_is_filled_with_the_samples_or_what_is_named(
    machine: Machine, status: str, environment: dict[str, str], indexed: str | None
) -> None:
    search = {"AZURE_SEARCH_ENDPOINT": "https://srch-1.search.windows.net", "AZURE_SEARCH_INDEX": "documents"}
    code, said = machine.run("first-index.sh", STATUS=status, **search, **environment)
    assert code == 0
    assert machine.called("make") == ([["index", f"DOCS={indexed}"]] if indexed else [])
    assert f"The app: {URL}/health" in said
    for asked in machine.called("curl"):
        assert "authorization: Bearer t-1" in asked
        assert asked[-1].startswith("https://srch-1.search.windows.net/indexes/documents?")


def test_roles_that_do_not_arrive_are_told(machine: Machine) -> None:
    search = {"AZURE_SEARCH_ENDPOINT": "https://srch-1.search.windows.net", "AZURE_SEARCH_INDEX": "documents"}
    code, said = machine.run("first-index.sh", STATUS="403", TRIES="0", **search)
    assert (code, machine.called("make")) == (1, [])
    assert "AI Search answers 403. Once your roles have arrived: make index" in said


def test_the_page_is_named_where_there_is_one(machine: Machine) -> None:
    assert f"Its page: {URL}/\n" in machine.run("first-index.sh", DOCUMENTS="none", DEPLOY_PLAYGROUND="on")[1]
    assert "DEPLOY_PLAYGROUND on" in machine.run("first-index.sh", DOCUMENTS="none")[1]


def test_azd_runs_files_that_are_there() -> None:
    told = re.findall(r"run: (infra/\S+)", (INFRA.parent / "azure.yaml").read_text())
    assert {Path(one).name for one in told} == {file.name for file in HOOKS.iterdir()}
    assert all(os.access(INFRA.parent / one, os.X_OK) for one in told if one.endswith(".sh"))
