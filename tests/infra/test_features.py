"""Which packages are deployed, and what an app says that lacks some."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.errors import NotConfigured
from shared.runtime import features
from shared.settings import Settings
from tests.infra.compiler import INFRA
from tests.infra.deployed import main_parameters

ROOT = INFRA.parent
WHOLE = (ROOT / "requirements.txt").read_text()
HASH = "a" * 64
AZURE = {
    "AZURE_OPENAI_ENDPOINT": "https://x",
    "AZURE_OPENAI_CHAT_DEPLOYMENT": "d",
    "AZURE_SEARCH_ENDPOINT": "https://y",
    "AZURE_SEARCH_INDEX": "i",
    "HISTORY_BACKEND": "off",
    "DOCUMENTS_WRITERS": "nobody",
}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "tools" / "requirements.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def packages(text: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    for name in ("requirements.py", "setup.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    (tmp_path / "requirements.txt").write_text(WHOLE)
    return tmp_path


def test_a_deployment_has_the_packages_of_its_features_and_the_file_is_whole_again(project: Path) -> None:
    file = project / "requirements.txt"
    for chosen in ("readers,agents", "none", "rai, built-in"):  # the second as if the first had broken off
        assert run(project, "--features", chosen).returncode == 0
        found = packages(file.read_text())
        for name, feature in features.FEATURES.items():
            assert set(feature.packages) <= found if name in chosen else found.isdisjoint(feature.packages)
        assert {"aiohttp", "azure-search-documents", "starlette"} <= found
    assert run(project, "--all").returncode == 0
    assert run(project, "--all").returncode == 0
    assert file.read_text() == WHOLE


def test_a_feature_that_there_is_not_is_named_and_changes_nothing(project: Path) -> None:
    refused = run(project, "--features", "readers, graphs")
    assert refused.returncode == 1
    assert "DEPLOY_FEATURES has graphs: there are readers, agents, built-in, rai" in refused.stderr
    assert (project / "requirements.txt").read_text() == WHOLE


def test_azd_packages_what_it_provisions_for() -> None:
    default = main_parameters()["features"].default
    hooks = (ROOT / "azure.yaml").read_text()
    assert f'"${{DEPLOY_FEATURES:-{default}}}"' in hooks
    assert f"if (-not $features) {{ $features = '{default}' }}" in hooks


def test_the_deployment_knows_the_features_that_there_are() -> None:
    (listed,) = re.findall(r"no feature: there are ([^;]+); or none", (INFRA / "main.bicep").read_text())
    assert listed.split(", ") == list(features.FEATURES)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Python finds a module that is None nowhere."""
    for feature in features.FEATURES.values():
        monkeypatch.setitem(sys.modules, feature.module, None)
    features.is_there.cache_clear()
    yield
    features.is_there.cache_clear()


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("environment", "lacks"),
    [
        ({"AZURE_SEARCH_ENDPOINT": "", "AZURE_SEARCH_INDEX": ""}, "built-in"),
        ({"HISTORY_BACKEND": "sqlite"}, "built-in"),
        ({"AZURE_OPENAI_ENDPOINT": "", "AZURE_OPENAI_CHAT_DEPLOYMENT": ""}, "built-in"),
        ({"CHAT_AGENT": "Researcher"}, "agents"),
        ({"AGENTS_FILE": "team.yaml"}, "agents"),
        ({"RAI_ENDPOINT": "https://rai"}, "rai"),
        ({"CONTENT_STORAGE__blobServiceUri": "https://b", "CONTENT_STORAGE__queueServiceUri": "https://q"}, "readers"),
        ({"AUTH_MODE": "api-key", "API_KEYS": f"pipeline:{HASH}", "DOCUMENTS_WRITERS": "pipeline"}, "readers"),
    ],
)
def test_settings_that_need_a_feature_name_it_at_the_start(environment: dict[str, str], lacks: str) -> None:
    with pytest.raises(NotConfigured, match=f"not deployed here: add {lacks} to DEPLOY_FEATURES") as refused:
        Settings.read(AZURE | environment)
    assert refused.value.message.count("DEPLOY_FEATURES") == 1


@pytest.mark.usefixtures("without")
def test_chat_in_azure_needs_none() -> None:
    assert Settings.read(AZURE)
