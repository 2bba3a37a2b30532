"""Set the project up: uv, Python 3.13 and everything in `uv.lock`. Runs on any Python 3.8 or later, bare.

Does only what is not done yet, so that it costs nothing the second time.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
PYTHON = "3.13"
UV_VERSION = "0.13.9"
PIP_VERSION = "26.3"


def main() -> None:
    """Set up, telling what takes time."""
    os.chdir(str(ROOT))
    with contextlib.suppress(OSError):  # not every file system can lock a folder
        # One at a time: who comes second finds it done. The lock ends with the process.
        fcntl.flock(os.open(str(ROOT), os.O_RDONLY), fcntl.LOCK_EX)
    stamp = ROOT / ".venv" / ".synced"
    inputs = [ROOT / "uv.lock", ROOT / "pyproject.toml", Path(__file__)]
    if stamp.exists() and all(stamp.stat().st_mtime > file.stat().st_mtime for file in inputs):
        return
    uv = find_uv()
    say("Installing the packages of uv.lock")
    command = [uv, "sync", "--locked", "--python", find_python(uv)]
    if subprocess.call(command) != 0:
        sys.exit("Setting up failed; the lines above say why.")
    stamp.touch()


def find_uv() -> str:
    """The machine's own uv, or one that we install below the project."""
    own = shutil.which("uv") or (str(TOOLS / "bin" / "uv") if (TOOLS / "bin" / "uv").exists() else None)
    return own or install_uv()


def install_uv() -> str:
    """Install uv with pip; where Python comes without pip, as in Debian, with a pip fetched for this once."""
    say("Installing uv")
    (TOOLS / "bin").mkdir(parents=True, exist_ok=True)
    uv = TOOLS / "bin" / "uv"
    with tempfile.TemporaryDirectory(dir=str(TOOLS)) as folder:
        pip = [sys.executable, "-m", "pip"]
        if subprocess.call([*pip, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
            pip = [sys.executable, fetch_pip(Path(folder)) + "/pip"]
        arguments = ["install", "--quiet", "--upgrade", "--target", folder + "/uv", "uv==" + UV_VERSION]
        if subprocess.call(pip + arguments) != 0:
            sys.exit("uv could not be installed. Install it yourself (https://docs.astral.sh/uv) and try again.")
        (Path(folder) / "uv" / "bin" / "uv").replace(uv)  # whole or not at all, if this is interrupted
    return str(uv)


def fetch_pip(folder: Path) -> str:
    """Download pip's wheel, which runs without being installed; return where it is."""
    name = "pip-" + PIP_VERSION + "-py3-none-any.whl"
    with urllib.request.urlopen("https://pypi.org/simple/pip/", timeout=60) as answer:
        link = re.search('href="([^"]*/' + re.escape(name) + ")", answer.read().decode())
    if not link:
        sys.exit("The package index has no " + name + ". Install uv yourself (https://docs.astral.sh/uv).")
    urllib.request.urlretrieve(urllib.parse.urljoin(answer.url, link.group(1)), str(folder / name))
    return str(folder / name)


def find_python(uv: str) -> str:
    """A Python that uv finds or pyenv has; else the version's name, for uv to download it."""
    found = subprocess.run(
        [uv, "python", "find", PYTHON], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    if found.returncode == 0:
        return found.stdout.decode().strip()
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return next((str(python) for python in sorted(pyenv.glob(PYTHON + ".*/bin/python"))), PYTHON)


def say(text: str) -> None:
    """Tell what is going on."""
    print(text + " …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
