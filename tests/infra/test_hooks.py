"""What `azd` says, and asks, before it deploys an app for everyone. The hook for PowerShell is not run here."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.infra.compiler import INFRA
from tools.cost import PEOPLE

HOOK = INFRA / "hooks" / "who-may-call.sh"


def run(folder: Path, answer: str | None = None, **environment: str) -> tuple[int, str]:
    """Run the hook; with an answer somebody is at the keyboard."""
    ours, theirs = pty.openpty()
    if answer is not None:
        os.write(ours, answer.encode() + b"\n")
    done = subprocess.run(
        [HOOK],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "AZURE_ENV_NAME": "demo", **environment},
        stdin=theirs if answer is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    return done.returncode, done.stderr


@pytest.mark.parametrize("mode", ["bearer", "easy-auth", "api-key"])
def test_nothing_is_said_where_callers_sign_in(tmp_path: Path, mode: str) -> None:
    assert run(tmp_path, DEPLOY_AUTH_MODE=mode) == (0, "")


def test_without_a_keyboard_it_warns_and_goes_on(tmp_path: Path) -> None:
    code, said = run(tmp_path, DEPLOY_AUTH_MODE="none")
    assert code == 0
    assert "WARNING: DEPLOY_AUTH_MODE is none" in said
    assert f"up to {PEOPLE['for a trial']['tokensPerDay']} tokens a day" in said


@pytest.mark.parametrize(
    ("chosen", "limit"),
    [
        ({"DEPLOY_PEOPLE": "2000"}, "has for 2000 people (DEPLOY_PEOPLE)"),
        ({"DEPLOY_PEOPLE": "2000", "DEPLOY_TOKENS_PER_DAY": "7000"}, "up to 7000 tokens a day (DEPLOY_TOKENS_PER_DAY)"),
        ({"DEPLOY_TOKENS_PER_DAY": "-1"}, "up to 5000000 tokens a day"),
    ],
)
def test_what_can_be_spent_is_said_as_it_is_set(tmp_path: Path, chosen: dict[str, str], limit: str) -> None:
    assert limit in run(tmp_path, DEPLOY_AUTH_MODE="none", **chosen)[1]


@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("no", 1), ("", 1)])
def test_whoever_is_at_the_keyboard_has_to_mean_it(tmp_path: Path, answer: str, code: int) -> None:
    assert run(tmp_path, answer, DEPLOY_AUTH_MODE="none")[0] == code


def test_what_azd_asked_for_before_counts_too(tmp_path: Path) -> None:
    config = tmp_path / ".azure" / "demo" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"infra": {"parameters": {"authMode": "none"}}}, indent=2))
    assert "WARNING: DEPLOY_AUTH_MODE is none" in run(tmp_path)[1]
    config.write_text(json.dumps({"infra": {"parameters": {"authMode": "bearer"}}}, indent=2))
    assert run(tmp_path) == (0, "")


def test_before_azd_asks_it_is_said_what_none_means(tmp_path: Path) -> None:
    code, said = run(tmp_path, "no", DEPLOY_TOKENS_PER_DAY="0")
    assert code == 0
    assert "azd will ask" in said
    assert "without a limit" in said
