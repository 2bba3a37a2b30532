"""Documents and docstrings name what the code has, and their links lead somewhere."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from inspect import signature
from pathlib import Path

import pytest

from shared import errors
from shared.wire.table import NAMES

ROOT = Path(__file__).parent.parent
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/conformance/README.md")
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


@pytest.mark.parametrize("folder", ["shared", "local", "tests", "tools", "infra", "bench", "evaluation"])
def test_files_that_docstrings_name_exist(folder: str) -> None:
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in [*_python_files(ROOT / folder), ROOT / "function_app.py"]
        for name in _paths_in_docstrings(file)
        if not any((base / name).exists() for base in (ROOT, ROOT / "shared", file.parent))
    }
    assert missing == set()


def _python_files(folder: Path) -> Iterator[Path]:
    """All that are ours: packages that tests installed have thousands more."""
    for parent, folders, names in folder.walk():
        folders[:] = [name for name in folders if name not in ("node_modules", ".venv")]
        yield from (parent / name for name in names if name.endswith(".py"))


def test_the_tree_of_errors_shows_every_class_in_order_with_its_status_and_code() -> None:
    drawn = re.findall(r"^ {4}([ │├└─]*)(\w.*)$", errors.__doc__ or "", re.MULTILINE)
    assert [(len(branches) // 4, line.split()) for branches, line in drawn] == [
        (len(one.__mro__) - len(errors.SwitchboardError.__mro__), _drawn(one))
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.SwitchboardError)
    ]


def _drawn(one: type[errors.SwitchboardError]) -> list[str]:
    if one is errors.SwitchboardError:
        return [one.__name__]
    retry_after = ", with `retry_after`" if "retry_after" in signature(one).parameters else ""
    return f"{one.__name__} {one.status} {one.code}{retry_after}".split()


def _paths_in_docstrings(file: Path) -> Iterator[str]:
    """The paths with an ending that begin with a folder of ours; others are of the files of other projects."""
    tops = {
        folder.name for base in (ROOT, ROOT / "shared", file.parent) for folder in base.iterdir() if folder.is_dir()
    }
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for name in re.findall(r"`([\w-]+(?:/[\w.-]+)*/(?:[\w.-]+\.\w+)?)`", node.value.value):
                if name.partition("/")[0] in tops:
                    yield name


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
