"""`tools/setup.py` on a machine that cannot download what it lacks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UNREACHABLE = "http://127.0.0.1:9"
"""Nothing listens on the port `discard`."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `tools/setup.py` needs of a fresh clone."""
    (tmp_path / "tools").mkdir()
    for name in ("tools/setup.py", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "tools" / "setup.py")]
    nothing = {"PATH": "/usr/bin:/bin", "HOME": str(checkout), "HTTPS_PROXY": UNREACHABLE, "UV_HTTP_RETRIES": "0"}
    return subprocess.run(
        command, env=nothing | environment, cwd=checkout, capture_output=True, text=True, check=False, timeout=100
    )


def test_a_python_that_cannot_be_downloaded_is_one_sentence_with_the_remedy(checkout: Path) -> None:
    uv = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
    (checkout / ".tools" / "bin").mkdir(parents=True)
    (checkout / ".tools" / "bin" / "uv").symlink_to(uv)
    done = set_up(checkout, UV_PYTHON_PREFERENCE="only-managed", UV_PYTHON_INSTALL_MIRROR=UNREACHABLE)
    assert done.returncode == 1
    assert "Install Python 3.13" in done.stderr.splitlines()[-1]
    assert len(done.stderr.splitlines()) <= 2
    assert "Traceback" not in done.stderr


def test_an_index_that_cannot_be_reached_is_one_sentence_with_the_remedy(checkout: Path) -> None:
    done = set_up(checkout, PATH=str(checkout))
    assert done.returncode == 1
    assert "install uv yourself" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
