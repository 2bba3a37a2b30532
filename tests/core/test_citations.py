"""Citations that name no retrieved source are found; other brackets are left in peace."""

import pytest

from shared.citations import WholeCitations, unverified_citations, with_exact_names

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


NAMED = {"My talks.md", "PyCon US 2025 – talks.md", "a, b.md", "It’s.md", "plan.pdf#page=3", "one.md", "two.md", "Ü.md"}


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("At 9 [ My talks.md ].", "At 9 [My talks.md]."),
        ("At 9 [PyCon US 2025 - talks.md].", "At 9 [PyCon US 2025 – talks.md]."),
        ("[My\u00a0talks.md] [It's.md] [U\u0308.md]", "[My talks.md] [It’s.md] [Ü.md]"),
        ("[one.md, two.md] [one.md; plan.pdf#page=3]", "[one.md][two.md] [one.md][plan.pdf#page=3]"),
        ("[a, b.md] stays one", "[a, b.md] stays one"),
        ("[one.md, three.md] [My talk.md] [1, 2] [ ] [,]", "[one.md, three.md] [My talk.md] [1, 2] [ ] [,]"),
        ("[ My talks.md ](https://x.example) is a link", "[ My talks.md ](https://x.example) is a link"),
        ("[my talks.md] has other letters", "[my talks.md] has other letters"),
    ],
)
def test_a_citation_gets_the_name_of_its_source_however_the_text_is_cut(written: str, exact: str) -> None:
    for cut in range(len(written) + 1):
        whole = WholeCitations(lambda text: with_exact_names(text, NAMED))
        assert whole.feed(written[:cut]) + whole.feed(written[cut:]) + whole.flush() == exact
