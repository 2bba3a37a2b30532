"""Measure what is deployed, and with `--check` fail if a figure is 10 % off what `bench/figures.json` has.

Growth that somebody has looked at is written down by `make figures`; nobody has looked at the rest. The figures are for
Linux, where the app runs: wheels of other systems have other sizes.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "figures.json"
DEPLOYED = ROOT / ".tools" / "deployed"
"""An environment with the packages of a deployment, and those of the local host."""
PART = 0.1
"""By how much a figure may be off."""
_MODULES = "import sys, function_app; print(len(sys.modules))"


def main() -> None:
    """Measure, and compare or write."""
    measured = measure()
    if "--check" not in sys.argv:
        KEPT.write_text(json.dumps(measured, indent=2) + "\n")
        print(*(f"{name}: {value}" for name, value in measured.items()), sep="\n")
    elif sys.platform == "linux" and (found := list(off(json.loads(KEPT.read_text()), measured))):
        sys.exit("\n".join([*found, "If that is meant, run `make figures`, and say why in the commit."]))


def off(kept: dict[str, int], measured: dict[str, int]) -> Iterator[str]:
    """Yield a sentence for each figure that has grown or shrunk."""
    for name, value in measured.items():
        before = kept.get(name, 0)
        if abs(value - before) > PART * before:
            yield f"{name} is {value:,} instead of {before:,}."


def measure() -> dict[str, int]:
    """Return the figures of this checkout."""
    packages = list(_packages())
    start = subprocess.run(
        [DEPLOYED / "bin" / "python", "-c", _MODULES], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return {
        "packages": len(packages),
        "megabytes of packages": sum(_size(one) for one in packages) // 1_000_000,
        "kilobytes of the app": sum(file.stat().st_size for file in app_files()) // 1_000,
        "modules at the start": int(start.stdout),
    }


def app_files() -> Iterator[Path]:
    """Yield the files of a deployment's package, as `.funcignore` has them."""
    rules = [line for line in (ROOT / ".funcignore").read_text().splitlines() if line]
    there = [path for path in ROOT.iterdir() if path.name != "samples"]  # of which a deployment has single files
    for path in (path for path in there if not any(fnmatch(path.name, rule) for rule in rules)):
        yield from (file for file in (path, *path.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    yield from (ROOT / rule[1:] for rule in rules if rule.startswith("!"))


def _packages() -> Iterator[Distribution]:
    """Yield the packages of `requirements.txt`, as they are installed."""
    wanted = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    (folder,) = DEPLOYED.glob("lib/python*/site-packages")
    for one in distributions(path=[str(folder)]):
        if re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower() in wanted:
            yield one


def _size(package: Distribution) -> int:
    """Return the bytes of a package's files without byte code, which is made where it runs."""
    files = (Path(str(file.locate())) for file in package.files or () if file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    main()
