"""The documents name what the code has, and their links lead somewhere."""

import re
from functools import cache
from pathlib import Path

import pytest

from shared.wire.table import NAMES

ROOT = Path(__file__).parent.parent
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", ["README.md", "docs/protocols.md"])
@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_is_documented_by_each_of_its_names(page: str, name: str) -> None:
    assert f"`{name}`" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)\s]+)\)", _prose(page))
    broken = [link for link in links if not _leads_somewhere(page, link)]
    assert not broken, f"{page.relative_to(ROOT)} links to what is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`((?:shared|local|tests|tools|infra|samples|docs|bench|evaluation)/[\w./-]+)`", _prose(page))
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing, f"{page.relative_to(ROOT)} names what is not there"


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in _anchors(target))


@cache
def _anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page: in lower case, without punctuation, with hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def _prose(page: Path) -> str:
    """A page without its blocks of code, in which `#` begins a comment."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
