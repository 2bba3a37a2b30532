"""A release is prepared in all files that have its version, and its notes are its part of the changelog."""

import shutil
from pathlib import Path

import pytest

from tools.release import ROOT, VERSIONS, notes, prepare, sections


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files of this checkout that a release writes."""
    for name in (*VERSIONS, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.0.1 (2026-01-02)\n\n- Old.\n")
    return tmp_path


def test_what_was_unreleased_becomes_the_release_and_its_notes(checkout: Path) -> None:
    prepare(checkout, "7.8.9", "2026-12-24")
    assert notes(checkout, "7.8.9") == "- New."
    assert (checkout / "CHANGELOG.md").read_text().splitlines()[2:7] == [
        *("## Unreleased", "", "## 7.8.9 (2026-12-24)", "", "- New.")
    ]
    assert sections((checkout / "CHANGELOG.md").read_text()) == {"Unreleased": "", "7.8.9": "- New.", "0.0.1": "- Old."}


def test_there_is_no_release_without_changes(checkout: Path) -> None:
    prepare(checkout, "7.8.9", "2026-12-24")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        prepare(checkout, "7.8.10", "2026-12-25")


@pytest.mark.parametrize("name", VERSIONS)
def test_a_tag_that_is_not_the_version_of_every_file_is_refused(checkout: Path, name: str) -> None:
    before = (checkout / name).read_text()
    prepare(checkout, "7.8.9", "2026-12-24")
    (checkout / name).write_text(before)
    with pytest.raises(SystemExit, match=name):
        notes(checkout, "7.8.9")


def test_the_changelog_of_this_checkout_has_what_is_unreleased_first_and_then_versions() -> None:
    first, *versions = sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    numbers = [tuple(int(part) for part in version.split(".")) for version in versions]
    assert first == "Unreleased"
    assert numbers == sorted(numbers, reverse=True)
