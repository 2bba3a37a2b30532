"""Citations that name no retrieved source are found; other brackets are left in peace."""

import pytest

from shared.core.answering import unverified_citations

SOURCES = {"plan.pdf#page=3", "leave.md"}


@pytest.mark.parametrize(
    ("text", "unverified"),
    [
        ("It pays [plan.pdf#page=3][leave.md].", []),
        ("It pays [plan.pdf#page=4].", ["plan.pdf#page=4"]),
        ("One [made-up.docx], two [made-up.docx].", ["made-up.docx"]),
        ("Folders [a b/c d.html] too.", ["a b/c d.html"]),
        ("A note [1], a word [sic], a task [ ] and [x].", []),
        ("A [link.html](https://example.org) is no citation.", []),
        ("[broken.pdf", []),
        ("[[nested.pdf]]", ["nested.pdf"]),
    ],
)
def test_only_invented_sources_are_named(text: str, unverified: list[str]) -> None:
    assert unverified_citations(text, SOURCES) == unverified
