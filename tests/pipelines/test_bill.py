"""The list of what a deployment is made of has every package, and a licence of each."""

import json
import re

from tools.bill import ROOT, components, libraries

DEPLOYED = components((ROOT / "requirements.txt").read_text())


def test_it_has_each_package_that_is_deployed_on_linux_with_hashes_and_a_licence() -> None:
    names = re.findall(r"^([\w.-]+)==(?!.*sys_platform)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert set(names) <= {one["name"] for one in DEPLOYED}
    assert all(one["licenses"] and one["hashes"] for one in DEPLOYED)
    assert all(re.fullmatch(r"pkg:pypi/[\w.-]+@[\w.]+", one["purl"]) for one in DEPLOYED)


def test_it_has_the_libraries_of_the_page() -> None:
    vendored = json.loads((ROOT / "shared" / "playground" / "static" / "vendor" / "vendor.json").read_text())
    assert {one["name"] for one in libraries()} == vendored.keys()
    assert all(one["licenses"] for one in libraries())
