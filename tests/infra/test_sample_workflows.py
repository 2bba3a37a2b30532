"""The template that deploys the sample workflows gives each definition what it asks for."""

import json
import re
from pathlib import Path

import pytest

from tests.infra.compiler import INFRA

SAMPLES = sorted((INFRA.parent / "samples" / "workflows").glob("*.json"))
RESOURCES = re.findall(r"^resource .*?^}", (INFRA / "workflows.bicep").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_each_sample_is_deployed_with_all_its_parameters(sample: Path) -> None:
    [logic_app] = [
        one for one in RESOURCES if f"loadJsonContent('../samples/workflows/{sample.name}').definition" in one
    ]
    given = logic_app[logic_app.index("    parameters: {") :]
    wanted = json.loads(sample.read_text(encoding="utf-8"))["definition"]["parameters"]
    assert {name.strip("'") for name in re.findall(r"^      ([\w'$]+): \{", given, re.MULTILINE)} == wanted.keys()
    assert len(re.findall(r"^      [\w'$]+: \{\s+value: ", given, re.MULTILINE)) == len(wanted)
    assert f"  name: '{sample.stem}'\n" in logic_app
    assert "identity: { type: 'SystemAssigned' }" in logic_app
