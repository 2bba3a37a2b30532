"""The documents name what the code has: a protocol that is added must be told."""

from pathlib import Path

import pytest

from shared.wire.table import NAMES

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/protocols.md"])
@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_is_documented_by_each_of_its_names(page: str, name: str) -> None:
    assert f"`{name}`" in (ROOT / page).read_text(encoding="utf-8")
