"""The `openai` package is imported in parts, and is for everybody what it would be if it were imported whole."""

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
LATE = "shared.outbound.openai_service.late_package"

COMPARED = """
import json, sys
import shared.chat_models.openai_chat, shared.outbound.openai_service.errors, shared.outbound.openai_service.sender
import openai

openai.AsyncOpenAI(api_key="key", http_client=openai.DefaultAioHttpClient())

def loaded():
    return [name for name in sys.modules if name.startswith("openai.")]

at_first = loaded()
in_parts = {name: value for name, value in vars(openai).items() if not name.startswith("_")}
public = openai.__all__
print(json.dumps({
    "at first": at_first,
    "names": list(in_parts),
    "other objects": [name for name, value in in_parts.items() if getattr(openai, name) is not value],
    "missing": [name for name in public if not hasattr(openai, name)],
    "is plain": type(openai) is type(sys),
    "after": len(loaded()),
}))
"""


def run(script: str, path: Path = REPOSITORY) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_app_imports_a_tenth_of_the_package_and_the_same_objects() -> None:
    seen = json.loads(run(COMPARED))
    assert len(seen["at first"]) < 60
    assert "openai.resources" not in seen["at first"]
    assert {"AsyncOpenAI", "APIStatusError", "DefaultAioHttpClient"} <= {*seen["names"]}
    assert seen["other objects"] == seen["missing"] == []
    assert seen["is plain"]
    assert seen["after"] > 300


def test_a_package_that_was_imported_before_stays_whole() -> None:
    script = "import openai; kept = openai; import shared.outbound.openai_service.sender; import openai\n"
    assert run(f"{script}print(openai is kept, 'resources' in vars(openai))") == "True True\n"


def test_a_module_of_the_package_can_be_imported_first() -> None:
    script = f"import {LATE}\nfrom openai.types.chat import ChatCompletion\nimport openai\n"
    assert run(f"{script}print(openai.types.chat.ChatCompletion is ChatCompletion)") == "True\n"


def test_a_package_of_another_layout_is_imported_whole(tmp_path: Path) -> None:
    package = tmp_path / "openai"
    package.mkdir()
    (package / "__init__.py").write_text("FIRST = 1\nfrom .moved import Client, Gone\nfrom .rest import *\n")
    (package / "moved.py").write_text("from . import FIRST\nClient = FIRST + 1\nfrom .rest import Gone\n")
    (package / "rest.py").write_text("Gone = 3\nOther = 4\n")
    script = f"import {LATE}, openai\nprint(openai.Client, openai.Gone, openai.Other)\n"
    assert run(f"{script}print(hasattr(openai, 'never'), type(openai).__name__)", tmp_path) == "2 3 4\nFalse module\n"
