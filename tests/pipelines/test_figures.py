"""Growth of what is deployed is noticed."""

import pytest

from tools.figures import ROOT, app_files, off

KEPT = {"packages": 100, "modules at the start": 600}


@pytest.mark.parametrize("packages", [90, 100, 110])
def test_a_tenth_more_or_less_is_let_through(packages: int) -> None:
    assert list(off(KEPT, KEPT | {"packages": packages})) == []


@pytest.mark.parametrize("packages", [89, 111])
def test_more_than_that_is_named(packages: int) -> None:
    assert list(off(KEPT, KEPT | {"packages": packages})) == [f"packages is {packages} instead of 100."]


def test_a_figure_that_nobody_has_looked_at_is_named() -> None:
    assert list(off({}, {"new": 1})) == ["new is 1 instead of 0."]


def test_what_is_measured_is_what_is_deployed() -> None:
    names = {str(file.relative_to(ROOT)) for file in app_files()}
    assert {"function_app.py", "host.json", "requirements.txt", "samples/agents.yaml", "shared/app.py"} <= names
    assert not [
        name
        for name in names
        if name.startswith(("tests/", "docs/", "infra/", ".git", ".venv")) or "__pycache__" in name
    ]
