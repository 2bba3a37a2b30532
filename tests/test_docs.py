"""The documents name what the code has: a protocol or a setting that is added must be told."""

import re
from pathlib import Path

import pytest

from shared.settings import Settings, variable
from shared.wire.table import NAMES

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/protocols.md"])
@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_is_documented_by_each_of_its_names(page: str, name: str) -> None:
    assert f"`{name}`" in (ROOT / page).read_text(encoding="utf-8")


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8").partition("## Only on a laptop")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (?:`(\S+)` )?\| \S", page, re.MULTILINE))
    assert told == {variable(name): _as_set(field.default) for name, field in Settings.model_fields.items()}


def _as_set(default: object) -> str:
    """A default as somebody would set it; empty where there is none."""
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case _:
            return str(default)
