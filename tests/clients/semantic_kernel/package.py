"""Installs a package in an environment of its own, once."""

import os
import subprocess
from pathlib import Path

from tools.setup import find_python, find_uv

FOLDER = Path(__file__).parent


def install_package(folder: Path = FOLDER) -> None:
    """Install what `uv.lock` in a folder names, unless it is there."""
    stamp, wanted = folder / ".venv" / ".synced", (folder / "uv.lock", folder / "pyproject.toml")
    if stamp.exists() and all(stamp.stat().st_mtime >= file.stat().st_mtime for file in wanted):
        return
    uv = find_uv()
    command = [uv, "sync", "--quiet", "--locked", "--project", str(folder), "--python", find_python(uv)]
    unset = {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}
    env = {name: value for name, value in os.environ.items() if name not in unset}
    assert subprocess.run(command, env=env, check=False).returncode == 0, f"uv could not install {folder.name}"
    stamp.touch()
