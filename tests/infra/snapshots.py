"""Write `snapshots/`, or say with `--check` where they are not what the template deploys.

Run it as `python -m tests.infra.snapshots`. `bearer.json` is a whole deployment. Each other file has what that way
adds, leaves out and changes.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from shared.chat_types import Json
from tests.infra.compiler import INFRA, MISSING, SUBSCRIPTION, Bicep, compiler
from tests.infra.ways import BEARER, WAYS

FOLDER = Path(__file__).parent / "snapshots"
WHOLE = "bearer"
"""The way of which everything is kept."""
UNIQUE = "5ssx6j7coixfy"
"""The unique part of names, which follows from the subscription, the name of the environment and the region."""

type Resources = dict[str, dict[str, Any]]
"""Resources by type and name."""


@cache
def deployed(way: str) -> Mapping[str, Any]:
    """Return the kept resources and outputs of a way, whole."""
    kept = _read(way)
    if way == WHOLE:
        return kept
    first = deployed(WHOLE)
    resources = {name: one for name, one in first["resources"].items() if name not in kept["without"]}
    for name, changes in kept["changed"].items():
        flat = {path: value for path, value in _flat(resources[name]) if path not in changes}
        flat |= {path: value for path, value in changes.items() if value is not None}
        resources[name] = _nested(flat)
    return {
        "resources": resources | kept["added"],
        "outputs": {**first["outputs"], **kept["outputs"]},
    }


def reduced(way: str, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a snapshot of the compiler."""
    whole: dict[str, Any] = {
        "resources": _resources(snapshot),
        "outputs": _plain(dict(sorted(snapshot["outputs"].items()))),
    }
    if way == WHOLE:
        return whole
    first = deployed(WHOLE)
    old, new = first["resources"], whole["resources"]
    changed = {name: dict(_changes(old[name], new[name])) for name in old if name in new}
    outputs = {name: value for name, value in whole["outputs"].items() if first["outputs"].get(name) != value}
    return {
        "parameters": WAYS[way],
        "without": [name for name in old if name not in new],
        "added": {name: one for name, one in new.items() if name not in old},
        "changed": {name: changes for name, changes in changed.items() if changes},
        "outputs": outputs,
    }


def parameters(way: str) -> dict[str, Any]:
    """Return all parameters of a way."""
    return {**BEARER, **WAYS[way]}


def _read(way: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{way}.json").read_text(encoding="utf-8"))


def _resources(snapshot: Mapping[str, Any]) -> Resources:
    """Return the resources by type and name.

    Roles and diagnostic settings are told apart by what they are of: the names of roles are made up in Azure.
    """
    found: Resources = {}
    for one in snapshot["predictedResources"]:
        name, properties = one["name"], one.get("properties", {})
        kept = {key: value for key, value in one.items() if key not in {"id", "type", "name", "apiVersion"}}
        if "roleDefinitionId" in properties:
            of = _scope(name) or _scope(one["id"])
            role = properties["roleDefinitionId"].rpartition("/")[2]
            name = f"{role} on {of} for {_plain(properties['principalId'])}"
            kept = {"scope": of, **kept}
        elif "workspaceId" in properties:
            name = f"{name} of {_scope(one['id'])}"
        key = f"{one['type']}@{one['apiVersion']} {_plain(name)}"
        if key in found:
            raise ValueError(f"{key} is deployed twice.")
        found[key] = _plain(kept)
    return found


def _scope(text: str) -> str:
    """Return the resource that a role or a diagnostic setting is of, as its ID or the arguments of its name say."""
    found = re.match(r"\[\w+\('([^']+)'", text) or re.match(r"(.+)/providers/Microsoft\.(?:Auth|Insights/diag)", text)
    return found[1].rpartition("/")[2] if found else ""


def _plain(value: Json) -> Any:
    """Return a value with short IDs and references, and of long texts their first line."""
    match value:
        case dict():
            return {_plain(name): _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case str():
            if value.startswith('{"version":"Notebook'):
                return "a workbook"
            text = value.replace(f"/subscriptions/{SUBSCRIPTION}", "SUBSCRIPTION").replace(UNIQUE, "TOKEN")
            text = re.sub(r"SUBSCRIPTION/resourceGroups/(?:rg-demo|rg-of-the-company)/providers/", "GROUP/", text)
            text = re.sub(r"reference\('[^']*?([^'/]+)', '[\d-]+'(?:, 'full')?\)", r"\1", text)
            return text.split("\n")[0]
        case _:
            return value


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values that are new, by their paths; None for those that are gone."""
    before, after = dict(_flat(old)), dict(_flat(new))
    yield from ((path, value) for path, value in after.items() if path not in before or before[path] != value)
    yield from ((path, None) for path in before if path not in after)


def _flat(value: Mapping[str, Json], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a tree of objects by its path, such as `properties sku name`; lists are values."""
    for name, one in value.items():
        here = f"{path} {name}".strip()
        if isinstance(one, dict) and one:
            yield from _flat(one, here)
        else:
            yield here, one


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        *folders, last = path.split(" ")
        here = tree
        for name in folders:
            here = here.setdefault(name, {})
        here[last] = value
    return tree


def _lines(value: Json, indent: str = "") -> Iterator[str]:
    """Yield JSON in which whatever fits is one line."""
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or (indent and len(indent) + len(short) < 110):
        yield short
        return
    if isinstance(value, dict):
        ends, items = "{}", [(f"{json.dumps(name)}: ", one) for name, one in value.items()]
    else:
        ends, items = "[]", [("", one) for one in value]
    yield ends[0]
    for place, (name, one) in enumerate(items):
        yield f"{',' if place else ''}\n{indent}  {name}"
        yield from _lines(one, indent + "  ")
    yield f"\n{indent}{ends[1]}"


def main(check: bool) -> None:
    """Compile the templates, and write or compare the snapshots."""
    command = compiler()
    if command is None:
        sys.stderr.write(f"{MISSING}\n")
        return
    FOLDER.mkdir(exist_ok=True)
    wrong: list[str] = []
    with Bicep(command) as bicep:
        for file in (INFRA / "main.bicep", INFRA / "workflows.bicep"):
            wrong += bicep.compiled(file)[1]
        for way in WAYS:
            snapshot = bicep.snapshot(parameters(way))
            wrong += [f"{way}: {one}" for one in snapshot["diagnostics"]]
            file = FOLDER / f"{way}.json"
            text = "".join(_lines(reduced(way, snapshot))) + "\n"
            if not check:
                file.write_text(text, encoding="utf-8")
                deployed.cache_clear()
            elif not file.exists() or file.read_text(encoding="utf-8") != text:
                wrong.append(f"{file.name} is not what infra/ deploys: python -m tests.infra.snapshots, then git diff.")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main(check="--check" in sys.argv)
