"""Names in the index: ids that Azure AI Search takes, and citations that lead back to their file."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.folder import sourcefile_of
from shared.ingestion.passages import category, passage_id, sourcepage

paths = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(paths, st.none() | st.integers(1, 9999))
def test_decoding_a_citation_once_gives_the_path(path: str, page: int | None) -> None:
    cited = sourcepage(path, page)
    assert unquote(cited.partition("#")[0], errors="strict") == path
    assert cited.partition("#")[2] == (f"page={page}" if page else "")
    assert not re.search(r"[\[\]?\x00-\x1f\x7f]", cited)


@pytest.mark.parametrize(
    ("path", "cited"),
    [
        ("leave/Über uns (neu) & mehr.md", "leave/Über uns (neu) & mehr.md"),
        ("50% [old] c#?.md", "50%25 %5Bold%5D c%23%3F.md"),
        ("a\nb\u0085.md", "a%0Ab%C2%85.md"),
        ("10:30 minutes: draft.md", "10:30 minutes: draft.md"),
    ],
)
def test_only_what_would_end_a_citation_is_encoded(path: str, cited: str) -> None:
    assert sourcepage(path, None) == cited
    assert sourcepage(path, 3) == f"{cited}#page=3"


@given(paths, st.integers(0, 9999))
def test_an_id_is_a_key_for_azure_ai_search(path: str, number: int) -> None:
    assert re.fullmatch(r"file-[A-Za-z0-9_-]{1,1000}", passage_id(path, number))


@given(st.sets(st.tuples(paths, st.integers(0, 20)), min_size=2, max_size=20))
def test_ids_are_unique(places: set[tuple[str, int]]) -> None:
    assert len({passage_id(*place) for place in places}) == len(places)


def test_an_id_stays_the_same_from_run_to_run() -> None:
    assert passage_id("leave/Urlaub.md", 2) == "file-leave_Urlaub_md-655afd6452640773-page-2"


def test_the_first_folder_is_the_category() -> None:
    assert category("a.md") is None
    assert category("leave/deep/a.md") == "leave"


def test_a_sourcefile_is_composed_and_has_slashes() -> None:
    assert sourcefile_of(Path("/docs/leave/U\u0308.md"), Path("/docs")) == "leave/Ü.md"
