"""Features that a deployment may leave out with their packages (`DEPLOY_FEATURES`), and how the app says so.

`tools/requirements.py` marks the packages of each in `requirements.txt`, which by itself has all of them.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from shared.errors import NotConfigured


class Feature(msgspec.Struct, frozen=True):
    """What the app can do with some packages that the rest of it does not need."""

    packages: tuple[str, ...]
    """Those that `pyproject.toml` names."""
    module: str
    """A module of theirs, which is there if they are."""
    serves: str
    """What they serve, as a sentence begins with it."""


FEATURES = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, Feature])
"""By the names that `DEPLOY_FEATURES` has."""


@cache
def is_there(name: str) -> bool:
    """Whether the packages of a feature are installed."""
    return find_spec(FEATURES[name].module) is not None


def absent() -> list[str]:
    """The names of the features that are not there."""
    return [name for name in FEATURES if not is_there(name)]


def lack_of(name: str) -> str:
    """The sentence that says that a feature is not there."""
    return f"{FEATURES[name].serves} takes packages that are not deployed here: add {name} to DEPLOY_FEATURES."


def require(name: str) -> None:
    """Check that a feature is there, before its packages are imported.

    Raises:
        NotConfigured: it is not; names it.
    """
    if not is_there(name):
        raise NotConfigured(lack_of(name))
