"""`tools/setup.py`: what each set of packages installs, and what is said where nothing can be downloaded."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UNREACHABLE = "http://127.0.0.1:9"
"""Nothing listens on the port `discard`."""
UV = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `tools/setup.py` needs of a fresh clone."""
    (tmp_path / "tools").mkdir()
    for name in ("tools/setup.py", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(checkout: Path, *sets: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "tools" / "setup.py"), *sets]
    nothing = {"PATH": "/usr/bin:/bin", "HOME": str(checkout), "HTTPS_PROXY": UNREACHABLE, "UV_HTTP_RETRIES": "0"}
    return subprocess.run(
        command, env=nothing | environment, cwd=checkout, capture_output=True, text=True, check=False, timeout=100
    )


def test_a_python_that_cannot_be_downloaded_is_one_sentence_with_the_remedy(checkout: Path) -> None:
    (checkout / ".tools" / "bin").mkdir(parents=True)
    (checkout / ".tools" / "bin" / "uv").symlink_to(UV)
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


def test_a_folder_that_cannot_be_written_to_is_one_sentence(checkout: Path) -> None:
    (checkout / ".tools").touch()
    done = set_up(checkout, PATH=str(checkout))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"Setting up needs to write to {checkout}: Not a directory."
    assert "Traceback" not in done.stderr


GROUPS = ("local", "dev", "evaluation", "ocr", "embeddings")
APART = "bench"
"""The group that only the environment of the deployed app has."""


@pytest.fixture
def small(checkout: Path) -> Path:
    """A project with the same groups, and in each a package of its own that needs no download."""
    for name in ("app", APART, *GROUPS):
        with zipfile.ZipFile(checkout / f"for_{name}-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"for_{name}.py", "")
            wheel.writestr(f"for_{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: for_{name}\nVersion: 1\n")
            wheel.writestr(
                f"for_{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"for_{name}-1.dist-info/RECORD", "")
    lines = ["[project]", 'name = "small"', 'version = "1"', 'requires-python = ">=3.13"', 'dependencies = ["for-app"]']
    lines += [
        "[dependency-groups]",
        *(f'{name} = ["for-{name}"]' for name in (APART, *GROUPS)),
        "[tool.uv]",
        "package = false",
    ]
    lines += [
        "[tool.uv.sources]",
        *(f'for-{name} = {{path = "for_{name}-1-py3-none-any.whl"}}' for name in ("app", APART, *GROUPS)),
    ]
    (checkout / "pyproject.toml").write_text("\n".join(lines))
    command = [UV, "lock", "--quiet", "--offline", "--python", sys.executable]
    subprocess.run(command, cwd=checkout, check=True, timeout=100)
    return checkout


def installed(checkout: Path, environment: str = ".venv") -> set[str]:
    found = (checkout / environment).glob("lib/*/site-packages/for_*.py")
    return {file.stem.removeprefix("for_") for file in found}


def add(checkout: Path, *sets: str, **environment: str) -> str:
    """What setting up says, and nothing where there was nothing to do."""
    tools = checkout / ".tools" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    (tools / "uv").unlink(missing_ok=True)
    (tools / "uv").symlink_to(UV)
    path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"  # with the Python that runs here
    done = set_up(checkout, *sets, PATH=path, UV_OFFLINE="1", UV_CACHE_DIR=str(checkout / "cache"), **environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_each_command_adds_what_it_needs_and_what_was_installed_stays(small: Path) -> None:
    assert add(small, "run") == "Installing the packages of uv.lock …\n"  # not a line for each package
    assert installed(small) == {"app", "local"}
    assert add(small) == ""
    add(small, "evaluation")
    assert installed(small) == {"app", "local", "evaluation"}
    add(small, "run", OCR="local")
    assert installed(small) == {"app", "local", "evaluation", "ocr"}
    add(small, "run", EMBEDDINGS="local")
    assert installed(small) == {"app", "local", "evaluation", "ocr", "embeddings"}
    add(small, "test")
    assert installed(small) == {"app", *GROUPS}
    assert [add(small, name) for name in ("run", "test", "evaluation")] == ["", "", ""]
    (small / "uv.lock").touch()
    assert "Installing" in add(small, "run")
    assert installed(small) == {"app", *GROUPS}


def test_what_is_deployed_is_apart_for_tests_and_benchmarks_alone(small: Path) -> None:
    add(small, "run")
    assert installed(small, ".tools/deployed") == set()
    add(small, "test")
    assert installed(small, ".tools/deployed") == {"app", "local", APART}


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        *((name, "run") for name in ("setup", "run", "index", "sync", "api-key", "person", "audit")),
        *((name, "test") for name in ("setup-test", "test", "unit", "check", "bench", "requirements", "soak")),
        ("eval", "evaluation"),
    ],
)
def test_each_command_of_the_makefile_installs_its_set(command: str, wanted: str) -> None:
    make = shutil.which("make") or ""
    shown = subprocess.run([make, "-n", command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert re.findall(r'tools/setup.py" ([a-z-]+)', shown.stdout) == [wanted]
