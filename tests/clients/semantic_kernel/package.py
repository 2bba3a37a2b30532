"""Installs a package in an environment of its own, once, and runs a script of this folder with it."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tools.setup import find_python, find_uv

FOLDER = Path(__file__).parent
ENVIRONMENT = FOLDER / ".venv"
RUN_SECONDS = 60


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


async def run(script: str, given: Any = None) -> Any:
    """Run a script of this folder with the package: JSON in, JSON out."""
    process = await asyncio.create_subprocess_exec(
        ENVIRONMENT / "bin" / "python",
        FOLDER / script,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, complaints = await asyncio.wait_for(process.communicate(json.dumps(given).encode()), RUN_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    return json.loads(printed)
