"""What Azure finds in `function_app.py`, as Microsoft's worker library reads it."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure_functions_runtime.bindings.meta import load_binding_registry  # pyright: ignore[reportMissingTypeStubs]
from azure_functions_runtime.functions import Registry  # pyright: ignore[reportMissingTypeStubs]

from local.invocation import PROTOS
from shared.app import get_settings

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("functions.txt")
"""A line a function, in the order in which the host tries them: name, what it takes, and its bindings."""
WITH_QUEUES = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "BATCH_BACKEND": "queue",
    "CHAT_ANSWERS_QUEUE": "answers",
    "CHAT_REQUESTS_QUEUE": "requests",
    "CONTENT_STORAGE": "UseDevelopmentStorage=true",
    "WEBSITE_SITE_NAME": "app",
}


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def indexed() -> Iterator[str]:
    load_binding_registry()
    registry = Registry()
    found = runpy.run_path(str(ROOT / "function_app.py"))["app"].get_functions()
    for function in sorted(found, key=lambda function: function.get_function_name()):
        info = registry.add_indexed_function(function, PROTOS)  # pyright: ignore[reportUnknownMemberType] (no types)
        taken = [f"{name}: {each.pytype.__name__}" for name, each in info.input_types.items() if each.pytype]
        taken += ["context"] * info.requires_context
        bindings = [" ".join(_values(json.loads(raw))) for raw in function.get_raw_bindings()]
        assert info.is_async
        assert Path(info.directory) == ROOT
        yield f"{info.name}({', '.join(taken)}) {'; '.join(bindings)}"


def _values(binding: dict[str, str | bool | list[str]]) -> list[str]:
    return [",".join(value) if isinstance(value, list) else str(value) for value in binding.values()]


def test_azure_finds_these_functions_with_these_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the file anew if a route is added: nothing else may change in it."""
    for name, value in WITH_QUEUES.items():
        monkeypatch.setenv(name, value)
    assert list(indexed()) == SNAPSHOT.read_text(encoding="utf-8").splitlines()


def test_with_wrong_settings_no_queue_is_read_so_that_messages_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (WITH_QUEUES | {"CONTENT_CONTAINER": "No"}).items():
        monkeypatch.setenv(name, value)
    functions = list(indexed())
    assert functions
    assert not [line for line in functions if "queueTrigger" in line or "timerTrigger" in line]
