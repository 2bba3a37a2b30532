"""The `openai` package without its 450 modules of models, of which the app uses none: `from … import openai`.

The `__init__` of some of its packages imports everything below them. Here such an `__init__` runs only when a name is
needed that it makes itself. What it imports from one of its modules is taken from that module, the same object. That
saves nearly half of the CPU time of the import, before the first answer of each process.

Import this module late, as any that imports `openai`.
"""

import ast
import sys
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

_PACKAGES = ("openai", "openai.lib", "openai.types", "openai.types.shared")
_begun = set[str]()
"""Those whose `__init__` is running or has run."""
_lock = threading.RLock()
"""Held while an `__init__` runs."""


class _LatePackage(ModuleType):
    """A package whose `__init__` has not run yet."""

    def __getattr__(self, name: str) -> object:
        package = self.__name__
        with suppress(ImportError, AttributeError):
            if name.startswith("_") and not name.startswith("__"):
                value: object = import_module(f"{package}.{name}")
            else:
                module, original = _sources(str(self.__file__)).get(name, ("", ""))
                value = getattr(import_module(f"{package}.{module}"), original)
            setattr(self, name, value)
            return value
        with _lock:
            if package not in _begun and self.__spec__ and self.__spec__.loader:
                _begun.add(package)
                try:
                    self.__spec__.loader.exec_module(self)
                except BaseException:
                    _begun.discard(package)  # the next one who needs a name tries again
                    raise
                ModuleType.__setattr__(self, "__class__", ModuleType)
            return ModuleType.__getattribute__(self, name)


@cache
def _sources(file: str) -> dict[str, tuple[str, str]]:
    """Return module and original name of what an `__init__` imports from the package's own modules."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }


def _make_late(package: str) -> None:
    """Put a package among the imported ones without running its `__init__`; leave one that is there as it is."""
    parent, _, name = package.rpartition(".")
    if package not in sys.modules and (not parent or parent in sys.modules) and (spec := find_spec(package)):
        module = sys.modules[package] = module_from_spec(spec)
        module.__class__ = _LatePackage
        if parent:
            setattr(sys.modules[parent], name, module)


for _package in _PACKAGES:
    _make_late(_package)

import openai as openai  # noqa: E402, PLC0414 (only now; the alias says that others may import it from here)
