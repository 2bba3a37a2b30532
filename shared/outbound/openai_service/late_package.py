"""Imports the `openai` package without its 450 modules of models, of which the app uses none.

The `__init__` of some of its packages imports everything below them. Here such an `__init__` runs only when somebody
asks for a name that it makes itself. What it imports from one of its modules is taken from there, the same object.
"""

import ast
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import override

_PACKAGES = {"openai", "openai.lib", "openai.types", "openai.types.shared"}
_init = threading.RLock()
"""Held while an `__init__` runs."""


class _LatePackage(ModuleType):
    """A package whose `__init__` has not run, or runs just now."""

    def __getattr__(self, name: str) -> object:
        spec = self.__spec__
        if spec and isinstance(late := spec.loader, _LateLoader):
            with suppress(ImportError, AttributeError):
                value = late.find(self.__name__, name)
                setattr(self, name, value)
                return value
        with _init:
            if spec and isinstance(late := spec.loader, _LateLoader):
                late.run_init(self, spec)
            return ModuleType.__getattribute__(self, name)


class _LateLoader(Loader):
    """Makes a package without running its `__init__`.

    Args:
        whole: Runs it.
    """

    def __init__(self, whole: InspectLoader) -> None:
        self.whole = whole
        self._sources: Mapping[str, tuple[str, str]] | None = None

    @override
    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system."""

    @override
    def exec_module(self, module: ModuleType) -> None:
        """Leave the package empty."""
        module.__class__ = _LatePackage

    def run_init(self, module: ModuleType, spec: ModuleSpec) -> None:
        """Make the package what it is without this module; if that fails, the next who asks tries again."""
        spec.loader = self.whole
        try:
            self.whole.exec_module(module)
        except BaseException:
            spec.loader = self
            raise
        module.__class__ = ModuleType

    def find(self, package: str, name: str) -> object:
        """Return what a package has under a name, from one of its modules.

        Raises:
            ImportError, AttributeError: Only its `__init__` can tell.
        """
        if name.startswith("_") and not name.startswith("__"):
            return import_module(f"{package}.{name}")
        if self._sources is None:
            self._sources = _imported_by(self.whole.get_source(package) or "")
        if name not in self._sources:
            raise AttributeError
        module, original = self._sources[name]
        return getattr(import_module(f"{package}.{module}"), original)


def _imported_by(source: str) -> dict[str, tuple[str, str]]:
    """Return module and original name of what an `__init__` imports from the package's own modules."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }


class _Finder(MetaPathFinder):
    """Finds `_PACKAGES`, and nothing else, for the import system."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _PACKAGES else None
        if spec is not None and isinstance(spec.loader, InspectLoader):
            spec.loader = _LateLoader(spec.loader)
        return spec


def import_late() -> None:
    """Make the next imports of the packages late ones. One that has been imported before stays whole."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
