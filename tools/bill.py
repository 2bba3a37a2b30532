"""Print what a deployment is made of: its packages and the libraries of its page, with licences, as CycloneDX 1.5.

The versions and the hashes are those of `requirements.txt`. A licence is what the package says of itself, so that the
packages have to be installed: `make setup` does that.
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = r"^([\w.-]+)==([^\s;]+)([^\n]*)\n((?:[ \t].*\n)*)"
"""A package in `requirements.txt`: its name, version, where it is installed, and its hashes."""
PREFIX = "License :: OSI Approved :: "


def main() -> None:
    """Print the bill, and fail if a package says nothing of its licence."""
    bill = components((ROOT / "requirements.txt").read_text()) + libraries()
    unknown = [one["name"] for one in bill if not one["licenses"]]
    if unknown:
        sys.exit(f"No licence is known of {', '.join(unknown)}: are they installed?")
    print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": bill}, indent=2))


def components(requirements: str) -> list[dict[str, Any]]:
    """Return the packages of a file with hashes, as components of a bill."""
    found: list[dict[str, Any]] = []
    for name, version, where, hashes in re.findall(PACKAGE, requirements, re.MULTILINE):
        if "emscripten" in where:
            continue  # never on Linux
        found.append(
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"name": licence}} for licence in licences(name)],
                "hashes": [{"alg": "SHA-256", "content": one} for one in re.findall(r"sha256:(\w+)", hashes)],
            }
        )
    return found


def libraries() -> list[dict[str, Any]]:
    """Return the libraries that the page is served with."""
    kept = json.loads((ROOT / "shared" / "playground" / "static" / "vendor" / "vendor.json").read_text())
    return [
        {
            "type": "library",
            "name": name,
            "version": one["version"],
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{one['version']}",
            "licenses": [{"license": {"name": one["licence"]}}],
        }
        for name, one in kept.items()
    ]


def licences(name: str) -> list[str]:
    """Return what an installed package says of its licence: an expression, else its classifiers, else a first line."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return []
    if expression := said.get("License-Expression"):
        return [expression]
    classified = [one.removeprefix(PREFIX) for one in said.get_all("Classifier", []) if one.startswith(PREFIX)]
    line = (said.get("License") or "").strip().partition("\n")[0]
    return classified or ([line] if line else [])


if __name__ == "__main__":
    main()
