"""Set up the project: uv, Python 3.13 and a set of the packages in `uv.lock`. Runs on Python 3.8 or later alone.

`setup.py run`, the default, installs what runs the app; `test` and `evaluation` add what those commands need. Finished
steps are skipped, so a second run takes almost no time, and what was once installed stays.
"""

from __future__ import annotations  # Python 3.8 would evaluate them

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
DEPLOYED = TOOLS / "deployed"
"""The environment in which benchmarks and tests run the app as it is deployed, without packages for development."""
PYTHON = "3.13"
UV_VERSION = "0.13.9"
PIP_VERSION = "26.3"
SETS = {"run": ["local"], "test": ["local", "dev", "evaluation"], "evaluation": ["local", "evaluation"]}
"""The dependency groups of `pyproject.toml` that each set of packages has."""
EXTRAS = {"OCR": "ocr", "EMBEDDINGS": "embeddings"}
"""The further group that each setting takes if it is `local`."""


def main() -> None:
    """Set up the project, and print the steps that take time."""
    os.chdir(str(ROOT))
    with contextlib.suppress(OSError):  # not every file system can lock a folder
        # One process at a time: a second one waits and finds the work done. The lock is released with the process.
        fcntl.flock(os.open(str(ROOT), os.O_RDONLY), fcntl.LOCK_EX)
    wanted = set(SETS[sys.argv[1] if len(sys.argv) > 1 else "run"])
    wanted |= {EXTRAS[name] for name in EXTRAS if "SETUP_EXTRAS" in os.environ or os.environ.get(name) == "local"}
    stamp = ROOT / ".venv" / ".synced"
    installed = set(stamp.read_text().split() if stamp.exists() else [])
    inputs = [ROOT / "uv.lock", ROOT / "pyproject.toml", Path(__file__)]
    if wanted <= installed and all(stamp.stat().st_mtime > file.stat().st_mtime for file in inputs):
        return
    uv = find_uv()
    python = find_python(uv) or install_python(uv)
    say("Installing the packages of uv.lock")
    groups = sorted(wanted | installed)
    sync(uv, python, groups, ROOT / ".venv")
    if "dev" in groups:
        sync(uv, python, [*SETS["run"], "bench"], DEPLOYED)
    stamp.write_text(" ".join(groups))


def sync(uv: str, python: str, groups: list[str], folder: Path) -> None:
    """Install the packages of the app and of these groups, and no others, in a virtual environment."""
    command = [uv, "sync", "--quiet", "--locked", "--no-default-groups", "--python", python]
    command += ["--group=" + group for group in groups]
    if subprocess.call(command, env=dict(os.environ, UV_PROJECT_ENVIRONMENT=str(folder))) != 0:
        sys.exit("Setting up failed; the lines above say why.")


def find_uv() -> str:
    """Return the path of the machine's uv, or of one installed in `.tools/`."""
    own = shutil.which("uv") or (str(TOOLS / "bin" / "uv") if (TOOLS / "bin" / "uv").exists() else None)
    return own or install_uv()


def install_uv() -> str:
    """Install uv with pip; if Python has no pip, as in Debian, with a temporary download of pip."""
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
        (Path(folder) / "uv" / "bin" / "uv").replace(uv)  # atomic: an interruption leaves no partial file
    return str(uv)


def fetch_pip(folder: Path) -> str:
    """Download pip's wheel, which runs without being installed; return its path."""
    name = "pip-" + PIP_VERSION + "-py3-none-any.whl"
    try:
        with urllib.request.urlopen("https://pypi.org/simple/pip/", timeout=60) as answer:
            link = re.search('href="([^"]*/' + re.escape(name) + ")", answer.read().decode())
        if not link:
            sys.exit("The package index has no " + name + ". Install uv yourself (https://docs.astral.sh/uv).")
        urllib.request.urlretrieve(urllib.parse.urljoin(answer.url, link.group(1)), str(folder / name))
    except OSError as unreachable:
        sys.exit(
            "pypi.org cannot be reached: " + str(unreachable) + ". Set HTTPS_PROXY, or install uv yourself "
            "(https://docs.astral.sh/uv), and try again."
        )
    return str(folder / name)


def find_python(uv: str) -> str:
    """Return a Python that uv or pyenv has; empty if there is none."""
    found = subprocess.run(
        [uv, "python", "find", PYTHON], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    if found.returncode == 0:
        return found.stdout.decode().strip()
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return next((str(python) for python in sorted(pyenv.glob(PYTHON + ".*/bin/python"))), "")


def install_python(uv: str) -> str:
    """Let uv download a Python; return its version number, by which uv finds it."""
    say("Downloading Python " + PYTHON)
    if subprocess.call([uv, "python", "install", "--quiet", PYTHON], stderr=subprocess.DEVNULL) != 0:
        sys.exit(
            "Python " + PYTHON + " is not installed, and could not be downloaded from github.com. "
            "Install Python " + PYTHON + " yourself (apt, brew, pyenv), or set HTTPS_PROXY, and try again."
        )
    return PYTHON


def say(text: str) -> None:
    """Print the current step."""
    print(text + " …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main()
    except OSError as fault:  # such as a folder that may only be read
        sys.exit("Setting up needs to write to " + str(ROOT) + ": " + str(fault.strerror or fault) + ".")
