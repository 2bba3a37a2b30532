"""`tools/bicep.py` says of a file what a compiler would, as far as its text tells."""

from pathlib import Path

import pytest

from tools.bicep import INFRA, problems

INNER = """
param name string
param size int = 1

output both string = '${name}${size}'
"""
MODULE = "module a 'inner.bicep' = {\n  params: { name: 'x' }\n}\n"
NAMED = "module a 'inner.bicep' = {\n  name: 'x'\n  params: { name: 'x' }\n}\n"
MAYBE = "module a 'inner.bicep' = if (true) {\n  params: { name: 'x' }\n}\n"
RESOURCE = "resource a 'A/b@2024-01-01' = {\n  name: 'x'\n}\n"


def said(folder: Path, outer: str) -> list[str]:
    (folder / "inner.bicep").write_text(INNER)
    (folder / "outer.bicep").write_text(outer)
    return list(problems(folder / "outer.bicep"))


@pytest.mark.parametrize("file", sorted(INFRA.rglob("*.bicep")), ids=lambda file: file.name)
def test_our_files_are_in_order(file: Path) -> None:
    assert not list(problems(file))


@pytest.mark.parametrize(
    ("outer", "says"),
    [
        ("var a = [\n  'x'\n", "outer.bicep:2: is no Bicep"),
        ("param a string =\n\noutput b string = a", "is no Bicep"),
        ("output a string = b", "outer.bicep:1: b is not declared"),
        ("output a string = 'x-${b}'", "b is not declared"),
        ("output a string = listen('x')", "listen is not declared"),
        ("var a = [for one in [1]: one]\noutput b array = a\noutput c int = one", "outer.bicep:3: one is not declared"),
        ("param a string", "a is not used"),
        ("var a = 1", "a is not used"),
        ("resource a 'A/b@2024-01-01' existing = {\n  name: 'x'\n}", "a is looked up and not used"),
        ("param a int\nvar a = 1\noutput b int = a", "outer.bicep:2: a is declared twice"),
        ("output a int = 1\noutput a int = 2", "outer.bicep:2: a is declared twice"),
        ("output a object = {\n  b: 1\n  'b': 2\n}", "outer.bicep:3: b is set twice"),
        (f"{RESOURCE}{RESOURCE.replace(' a ', ' b ')}", "outer.bicep:4: 'x' is made twice"),
        (f"{NAMED}{NAMED.replace(' a ', ' b ')}", "outer.bicep:5: 'x' is made twice"),
        ("output a string = loadTextContent('other.kql')", "there is no other.kql"),
        ("module a 'other.bicep' = {\n  name: 'a'\n}", "there is no other.bicep"),
        ("module a 'inner.bicep' = {\n  name: 'a'\n}", "inner.bicep is not given name"),
        ("module a 'inner.bicep' = {\n  params: { name: 'x', sise: 2 }\n}", "inner.bicep has no parameter sise"),
        (
            "module a 'inner.bicep' = {\n  params: { name: 'x' }\n}\noutput b string = a.outputs.one",
            "a has no output one",
        ),
        (
            "module a 'inner.bicep' = if (true) {\n  params: { name: 'x' }\n}\noutput b string = a!.outputs.one",
            "a has no output one",
        ),
        (f"{MAYBE}output b string = true ? a.outputs.both : ''", "outer.bicep:4: a may not be there"),
        (
            "resource a 'A/b@2024-01-01' existing = if (true) {\n  name: 'x'\n}\noutput b string = a.properties.c",
            "outer.bicep:4: a may not be there",
        ),
        (
            f"targetScope = 'subscription'\n{MODULE}",
            "outer.bicep:2: a needs a scope: inner.bicep is for a resourceGroup",
        ),
        (
            f"{MODULE}var b = true ? 'c' : a.outputs.both\nresource d 'A/b@2024-01-01' = {{\n  name: 'd-${{b}}'\n}}",
            "outer.bicep:6: d has to be known at the start, and a.outputs is not",
        ),
        (
            f"{RESOURCE}module b 'inner.bicep' = if (a.properties.c) {{\n  params: {{ name: 'x' }}\n}}",
            "outer.bicep:4: b has to be known at the start, and a.properties is not",
        ),
        (
            f"{RESOURCE}resource b 'A/b@2024-01-01' = [\n  for c in a.properties.d: {{\n    name: c\n  }}\n]",
            "outer.bicep:5: b has to be known at the start, and a.properties is not",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, outer: str, says: str) -> None:
    found = said(tmp_path, outer)
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    "outer",
    [
        "output a string = loadTextContent('inner.bicep')",
        "module a 'inner.bicep' = {\n  params: { name: 'x' }\n}\noutput both string = a.outputs.both",
        "var a = [for one in [1]: { two: one }]\noutput a array = a",
        f"{RESOURCE}resource b 'A/c@2024-01-01' = {{\n  name: 'x'\n}}",
        f"{RESOURCE}resource b 'A/b@2024-01-01' = {{\n  name: 'x'\n  parent: a\n}}",
        f"{RESOURCE}resource b 'A/b@2024-01-01' existing = {{\n  name: 'x'\n}}\noutput c string = b.id",
        "var a = map(['x'], one => '${one}')\noutput b array = a",
        f"{MAYBE}output b string = a!.outputs.both",
        f"{MAYBE}output b string = a.?outputs.both ?? ''",
        f"{RESOURCE}resource b 'A/b@2024-01-01' = {{\n  name: '${{a.name}}-y'\n}}",
        f"{MODULE}module b 'inner.bicep' = {{\n  params: {{ name: a.outputs.both }}\n}}",
        "@description('x')\n@minValue(1)\nparam a int\n\noutput b int = a",
    ],
)
def test_what_is_right_is_left_alone(tmp_path: Path, outer: str) -> None:
    assert not said(tmp_path, outer)
