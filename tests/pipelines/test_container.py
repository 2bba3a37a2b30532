"""The image of `Dockerfile` has what a deployment has."""

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
COPIED = {
    source
    for line in re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for source in line.split()
}


def test_it_has_the_files_of_a_deployment_and_no_others() -> None:
    rules = [line.removeprefix("**/") for line in (ROOT / ".funcignore").read_text().splitlines()]
    there = {path.name for path in ROOT.iterdir()} - {".funcignore", "samples"}
    deployed = {name for name in there if not any(fnmatch(name, rule) for rule in rules)}
    assert deployed | {"samples/agents.yaml"} == COPIED  # the only sample that is deployed


def test_what_it_copies_reaches_the_builder() -> None:
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == COPIED
    assert rules[-1] == "**/__pycache__"  # byte code of another Python
