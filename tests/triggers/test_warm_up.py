"""The warm-up counts the modules that Python compiles at each start."""

import os
import py_compile
import sys
from importlib import import_module, invalidate_caches
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from shared.triggers.warm_up import compiled_each_time


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three modules, loaded without writing byte code."""
    name = f"{tmp_path.name.replace('-', '_')}_app"
    folder = tmp_path / name
    folder.mkdir()
    for file in ("__init__", "first", "second"):
        (folder / f"{file}.py").write_text("")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    invalidate_caches()
    for module in (name, f"{name}.first", f"{name}.second"):
        monkeypatch.setitem(sys.modules, module, import_module(module))
    return name


def test_modules_without_byte_code_are_counted(package: str, tmp_path: Path) -> None:
    assert compiled_each_time(package) == 3
    py_compile.compile(str(tmp_path / package / "first.py"), doraise=True)
    assert compiled_each_time(package) == 2


def test_byte_code_of_another_time_counts_as_none_unless_it_is_of_a_hash(package: str, tmp_path: Path) -> None:
    for file in ("__init__", "first", "second"):
        py_compile.compile(str(tmp_path / package / f"{file}.py"), doraise=True)
    assert compiled_each_time(package) == 0
    second = tmp_path / package / "second.py"
    os.utime(second, (1, 1))
    assert compiled_each_time(package) == 1
    py_compile.compile(str(second), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert compiled_each_time(package) == 0


def test_byte_code_of_another_python_or_cut_short_counts_as_none(package: str, tmp_path: Path) -> None:
    compiled = [Path(cache_from_source(file)) for file in (tmp_path / package).glob("*.py")]
    for file in (tmp_path / package).glob("*.py"):
        py_compile.compile(str(file), doraise=True)
    compiled[0].write_bytes(b"\0" * 4 + compiled[0].read_bytes()[4:])
    compiled[1].write_bytes(compiled[1].read_bytes()[:10])
    assert compiled_each_time(package) == 2
