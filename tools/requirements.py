"""Export `requirements.txt` from `uv.lock`, or with `--check` fail if it is not up to date.

Azure's remote build runs `pip install -r` on that file. It has the versions that were tested, with the hash of each
file, so that pip refuses packages that differ from the locked ones. What only one feature of
`shared/runtime/features.py` needs comes last, below a comment with its name. While `azd` packages the app,
`--features` leaves out those that `DEPLOY_FEATURES` does not name, and `--all` takes that back: both need Python 3.8
and nothing else.
"""

import re
import subprocess
import sys

from setup import ROOT, TOOLS, find_uv

REQUIREMENTS = ROOT / "requirements.txt"
WHOLE = TOOLS / "requirements.txt"
"""The whole file, while the other one has less."""
_MARK = "# DEPLOY_FEATURES: "
_PACKAGE = re.compile(r"^([\w.-]+)==.*\n(?:[ \t].*\n)*", re.MULTILINE)


def main() -> None:
    """Write the file, check it, or leave something out of it for a while."""
    option = sys.argv[1] if len(sys.argv) > 1 else ""
    if option == "--features":
        wanted = sys.argv[2].replace(",", " ").split()
        whole = (WHOLE if WHOLE.exists() else REQUIREMENTS).read_text()
        chosen = only(whole, [] if wanted == ["none"] else wanted)
        TOOLS.mkdir(exist_ok=True)
        WHOLE.write_text(whole)
        REQUIREMENTS.write_text(chosen)
    elif option == "--all":
        if WHOLE.exists():
            WHOLE.replace(REQUIREMENTS)
    elif option != "--check":
        REQUIREMENTS.write_text(marked())
    elif REQUIREMENTS.read_text() != marked():
        sys.exit("requirements.txt is not what uv.lock says: run 'make requirements'.")


def only(whole: str, wanted: "list[str]") -> str:
    """Leave out of the file what is below the marks of other features."""
    core, *parts = whole.split(_MARK)
    features = {part.partition("\n")[0]: part for part in parts}
    if unknown := [name for name in wanted if name not in features]:
        sys.exit(f"DEPLOY_FEATURES has {', '.join(unknown)}: there are {', '.join(features)}, or none of them: none.")
    return core + "".join(_MARK + features[name] for name in features if name in wanted)


def marked() -> str:
    """Return the file: what the app needs always, then the packages of each feature below its mark."""
    sys.path.insert(0, str(ROOT))
    from shared.runtime.features import FEATURES

    packages = exported()
    parts = ""
    for name, feature in FEATURES.items():
        others = exported(*feature.packages)
        own = [package for package in packages if package not in others]
        parts += f"{_MARK}{name}\n" + "".join(packages.pop(package) for package in own)
    return "".join(packages.values()) + parts


def exported(*without: str) -> "dict[str, str]":
    """Return the lines of each package, by its name, but for some packages and what only they need."""
    command = [find_uv(), "export", "--locked", "--no-default-groups", "--no-annotate", "--no-header", "--quiet"]
    command += [f"--prune={name}" for name in without]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    return {found[1]: found[0] for found in _PACKAGE.finditer(lines)}


if __name__ == "__main__":
    main()
