"""Prepare a release, or print its notes.

    python3 tools/release.py 0.2.0            gives what is unreleased in `CHANGELOG.md` this version and today's date
    python3 tools/release.py --notes 0.2.0    prints that part; fails if the app has another version

The commit and its tag `v0.2.0` are made by hand. Runs with Python's own library alone.
"""

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "## Unreleased\n"
VERSIONS = {
    "pyproject.toml": r'(?<=^name = "switchboard"\nversion = ")[^"]+',
    "shared/description/openapi.json": r'(?<=^  "version": ")[^"]+',
    "shared/description/swagger.json": r'(?<=^  "version": ")[^"]+',
    "shared/runtime/version.py": r'(?<=^VERSION = ")[^"]+',
    "uv.lock": r'(?<=^name = "switchboard"\nversion = ")[^"]+',
}
"""Where the version is written, and how to find it there."""


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description="Prepares a release, or prints its notes.")
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--notes", action="store_true", help="print the changes of this version")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version):
        sys.exit(f"{arguments.version} is no version: it should have three numbers, such as 0.2.0.")
    if arguments.notes:
        print(notes(ROOT, arguments.version))
    else:
        prepare(ROOT, arguments.version, datetime.now(UTC).date().isoformat())


def prepare(root: Path, version: str, date: str) -> None:
    """Write the version into all files that have it, and above what was unreleased in `CHANGELOG.md`."""
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if not sections(text).get("Unreleased"):
        sys.exit("CHANGELOG.md has nothing under Unreleased.")
    changelog.write_text(text.replace(UNRELEASED, f"{UNRELEASED}\n## {version} ({date})\n", 1), encoding="utf-8")
    for name, pattern in VERSIONS.items():
        file = root / name
        written, count = re.subn(pattern, version, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"{name} should have the version once, and has it {count} times.")
        file.write_text(written, encoding="utf-8")


def notes(root: Path, version: str) -> str:
    """Return what `CHANGELOG.md` says of this version, which has to be the app's."""
    for name, pattern in VERSIONS.items():
        found = re.findall(pattern, (root / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if found != [version]:
            sys.exit(f"{name} has the version {', '.join(found)} instead of {version}.")
    changes = sections((root / "CHANGELOG.md").read_text(encoding="utf-8")).get(version)
    return changes or sys.exit(f"CHANGELOG.md has nothing under {version}.")


def sections(changelog: str) -> dict[str, str]:
    """Return the parts of a changelog by their versions, and what is `Unreleased`."""
    parts = re.split(r"^## (\S+)(?: \(\d{4}-\d\d-\d\d\))?\n", changelog, flags=re.MULTILINE)
    return {name: part.strip() for name, part in zip(parts[1::2], parts[2::2], strict=True)}


if __name__ == "__main__":
    main()
