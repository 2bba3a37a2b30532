"""Citations that name no retrieved source are found; other brackets are left in peace."""

import pytest

from shared.citations import unverified_citations

SOURCES = {"plan.pdf#page=3", "leave.md", "Handbook#page=2", "Price list"}


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
        ("Without an ending [Handbook#page=2], [Price list].", []),
        ("A page that was not found [Handbook#page=9], or none [Handbook].", ["Handbook#page=9", "Handbook"]),
        ("Other letters [price list], a page of nothing [Manual#page=1].", ["price list", "Manual#page=1"]),
        ("A name that is nowhere [Manual].", []),
        ("[[nested.pdf]]", ["nested.pdf"]),
    ],
)
def test_only_invented_sources_are_named(text: str, unverified: list[str]) -> None:
    assert unverified_citations(text, SOURCES) == unverified
