"""Lines with a place on a page become paragraphs, as a reader would see them."""

import pytest

from shared.reading.pdf_layout import Line, layout

LETTER = 5.0
HEIGHT = 10.0
PAGE = 800.0


def at(text: str, row: float, left: float = 50, height: float = HEIGHT) -> Line:
    """A line in a font whose letters are all as wide; `row` counts line heights and a bit from the top margin."""
    top = PAGE - 100 - row * HEIGHT * 1.2
    first_word = len(text.split(maxsplit=1)[0]) * LETTER
    return Line(text, left, left + len(text) * LETTER, top - height, top, first_word, PAGE)


def page(*texts: str) -> str:
    return layout([[at(text, row) for row, text in enumerate(texts)]])[0]


def test_a_line_break_is_undone_where_the_next_word_did_not_fit() -> None:
    assert page("This line is as long as the column is", "wide, and here it ends.") == (
        "This line is as long as the column is wide, and here it ends."
    )


def test_a_line_break_stays_where_the_next_word_would_have_fitted() -> None:
    assert page("Tea: free", "Coffee: not free", "This line is as long as the column is wide") == (
        "Tea: free\n\nCoffee: not free\n\nThis line is as long as the column is wide"
    )


def test_a_wide_gap_ends_a_paragraph_even_after_a_full_line() -> None:
    rows = [at("Full lines here, one after the other,", 0), at("are one paragraph until the gap there", 1)]
    rows += [at("which begins the next one as we can", 3), at("see here, since it is twice as wide.", 4)]
    assert layout([rows])[0].count("\n\n") == 1


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("The whole long line ends with insur-", "ance for all.", "The whole long line ends with insurance for all."),
        ("Diese lange Zeile endet mit Zahn-", "und Augenarzt.", "Diese lange Zeile endet mit Zahn- und Augenarzt."),
        ("Diese lange Zeile endet mit E-Mail-", "Adresse.", "Diese lange Zeile endet mit E-Mail-Adresse."),
        ("The whole long line is of 2025 -", "or of 2026.", "The whole long line is of 2025 - or of 2026."),
        ("截至二零二三年三月末，发行人各类授信额", "度总额。", "截至二零二三年三月末，发行人各类授信额度总额。"),
        ("The whole long line is for an A-", "level pupil.", "The whole long line is for an A-level pupil."),
        ("The whole long line is of a well-", "known rule.", "The whole long line is of a well-known rule."),
        ("A fire-safe door is one that is fire-", "safe by law.", "A fire-safe door is one that is fire-safe by law."),
    ],
)
def test_a_hyphen_at_a_line_end_goes_if_it_only_divided_a_word(first: str, second: str, joined: str) -> None:
    assert page(first, second) == joined


def test_headings_stand_out_by_their_height() -> None:
    lines = [at("Title", 0, height=20), at("Part", 3, height=13), at("Section", 5, height=11.5)]
    lines += [at("A taller sentence is none.", 7, height=11.5), at("The text itself is longer than all of those.", 9)]
    assert layout([lines])[0].split("\n\n") == [
        "# Title",
        "## Part",
        "### Section",
        "A taller sentence is none.",
        "The text itself is longer than all of those.",
    ]


def test_running_lines_go_and_the_same_text_elsewhere_stays() -> None:
    pages = [[at(f"Page {n}", -7), at("Same text on each page.", 10), at(f"Draft, {n} of 4", 54)] for n in range(4)]
    assert layout(pages) == ["Same text on each page."] * 4
    assert layout(pages[:2]) == [f"Page {n}\n\nSame text on each page.\n\nDraft, {n} of 4" for n in range(2)]


def test_a_page_of_which_the_end_of_a_sentence_is_all_keeps_it() -> None:
    first, rest = at("This line is as long as the column is", 0), at("wide, and here it ends.", 0)
    assert layout([[first], [rest]]) == [first.text, rest.text]
    assert layout([[first], [rest, at("More text.", 5)]]) == [f"{first.text} {rest.text}", "More text."]


def rows(*cells: tuple[str, ...]) -> list[Line]:
    return [
        at(text, row, left=50 + 150 * column) for row, texts in enumerate(cells) for column, text in enumerate(texts)
    ]


def test_a_table_with_an_empty_corner_gets_its_head() -> None:
    head = [at("Basic", 0, left=200), at("Plus", 0, left=350)]
    body = [at(cell, 1, left=50 + 150 * column) for column, cell in enumerate(("Premium", "40", "140"))]
    assert layout([head + body]) == ["|  | Basic | Plus |\n| --- | --- | --- |\n| Premium | 40 | 140 |"]


def test_a_table_of_names_and_values_or_of_uneven_rows_has_no_head() -> None:
    assert layout([rows(("Name", "Tea"), ("Price", "1"))]) == ["| Name | Tea |\n| Price | 1 |"]
    assert layout([rows(("a", "b", "c", "d"), ("e", "f"), ("g", "h", "i"))]) == [
        "| a | b | c | d |\n| e | f |\n| g | h | i |"
    ]


def test_a_page_without_lines_has_no_text() -> None:
    assert layout([[], []]) == ["", ""]
