"""Slips on make's command line: they end it before anything runs, so that no other folder is indexed than was meant."""

import shlex
import subprocess

import pytest

from tests.local.running_host import REPOSITORY


def made(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What make would do."""
    command = ["make", "--no-print-directory", "-n", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("slip", "says"),
    [
        (("index", "docs=/folder"), "docs= is no name"),
        (("index", "DOC=/folder"), "DOC= is no name"),
        (("run", "port=7072"), "port= is no name"),
        (("index", "/my/folder"), "make index DOCS=/my/folder"),
        (("index", "DOCS=/folder", "EMBEDINGS=local"), "EMBEDINGS= is no name"),
    ],
    ids=str,
)
def test_a_slip_is_an_error_before_anything_runs(slip: tuple[str, ...], says: str) -> None:
    done = made(*slip)
    assert done.returncode == 2
    assert says in done.stderr
    assert "local" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "does"),
    [
        (("index", "DOCS=/a folder", "OCR=local", "OTEL_SERVICE_NAME=x"), 'index_command "/a folder"'),
        (("index", "DOCS=samples"), 'index_command "samples/documents"'),
        (("eval", "SAMPLES=1", "ARGS=--only x=1"), "--samples"),
        (("help",), "awk"),
    ],
    ids=str,
)
def test_names_that_are_known_are_taken(arguments: tuple[str, ...], does: str) -> None:
    done = made(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert does in done.stdout


@pytest.mark.parametrize("arguments", [("index",), ("index", "DOCS="), ("index", "DOCS= ")], ids=str)
def test_the_samples_take_no_place_unasked(arguments: tuple[str, ...]) -> None:
    command = made(*arguments).stdout.splitlines()[-1]
    done = subprocess.run(shlex.split(command), cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "DOCS=folder" in done.stderr
