"""The template that deploys the sample workflows gives each definition what it asks for."""

import json
from pathlib import Path

import pytest

from tools.bicep import INFRA, BicepFile, properties, text

SAMPLES = sorted((INFRA.parent / "samples" / "workflows").glob("*.json"))
TEMPLATE = BicepFile(INFRA / "workflows.bicep")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_each_sample_is_deployed_with_all_its_parameters(sample: Path) -> None:
    [logic_app] = [
        one
        for one in TEMPLATE.of("resource").values()
        if f"loadJsonContent('../samples/workflows/{sample.name}').definition" in text(one.node)
    ]
    given = properties(properties(logic_app.body["properties"])["parameters"])
    wanted = json.loads(sample.read_text(encoding="utf-8"))["definition"]["parameters"]
    assert {name.strip("'") for name in given} == wanted.keys()
    for name, parameter in given.items():
        assert "value" in properties(parameter), name
    assert text(logic_app.body["name"]) == f"'{sample.stem}'"
    assert "SystemAssigned" in text(logic_app.body["identity"])
