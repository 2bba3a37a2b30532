"""Each format becomes clean text with its headings, lists and tables."""

import io
import zipfile
from pathlib import Path

import pytest

from shared.reading import Page, UnreadableError
from shared.reading.markup import html_to_markdown
from shared.reading.readers import read_pages

FILES = Path(__file__).parent / "files"


def read(name: str) -> list[Page]:
    """The pages of a file beside this one."""
    path = FILES / name
    return read_pages(path.read_bytes(), path.suffix)


def test_a_pdf_is_read_page_by_page_without_its_running_lines() -> None:
    first, second, third = read("three-pages.pdf")
    assert [page.number for page in (first, second, third)] == [1, 2, 3]
    assert first.text.startswith("## Rules for the tea kitchen\n\nThis line fills")
    assert third.text == ("## Cleaning\n\nPage three tells who cleans the kitchen. Every team cleans it for one week.")
    assert "edition 4" not in first.text + second.text + third.text
    assert "of 3" not in first.text + second.text + third.text


def test_a_sentence_belongs_to_the_page_on_which_it_begins() -> None:
    first, second, _ = read("three-pages.pdf")
    assert first.text.endswith("that it can only end on page two, after the break.")
    assert second.text.startswith("The third sentence stands on page two as a whole.")


def test_tables_and_lists_of_a_pdf_keep_their_lines() -> None:
    text = read("three-pages.pdf")[1].text
    assert "| Drink | Price | Cups |\n| --- | --- | --- |\n| Green tea | 0.50 | 12 |\n| Black tea | 0.40 | 15 |" in text
    assert "- Wash your cup after use, and put it back on the shelf where it was when you came.\n\n- Leave" in text


def test_lines_and_columns_of_a_pdf_become_whole_sentences_with_their_hyphens_repaired() -> None:
    (page,) = read("two-columns.pdf")
    assert page.text == (
        "Die linke Spalte beginnt mit der Versicherung aller Beschäftigten, auch der Zahn- und Augenversorgung. "
        "Für Zahn- und Augenarzt gibt es eine E-Mail-Adresse und eine fixe Gebühr. Dieser Satz geht in der rechten "
        "Spalte wirklich weiter, bis er hier zu Ende ist. Größe und üblicher Umfang sind gleich, und das bleibt auch "
        "so.\n\nEin neuer Absatz steht weiter unten und endet bald."
    )


def test_a_word_document_keeps_headings_lists_and_tables_and_loses_its_pictures() -> None:
    (page,) = read("rules.docx")
    assert page.number is None
    assert page.text == (
        "# Tea\n\n# Rules\n\nTea is free for everyone.\n\n- Green tea is on the left.\n\n"
        "| Drink | Price |\n| --- | --- |\n| Mate | 0.60 € |"
    )


def test_a_word_document_that_unpacks_to_too_much_is_refused() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as parts, parts.open("word/document.xml", "w") as part:
        for _ in range(101):
            part.write(bytes(1024 * 1024))
    assert len(bomb.getvalue()) < 1024 * 1024
    with pytest.raises(UnreadableError, match="104,857,600 bytes of markup"):
        read_pages(bomb.getvalue(), ".docx")


@pytest.mark.parametrize("text", [b"<w:p/>" * 2_000_000, b"<w:p " + b"a='' " * 2_000_000])
def test_a_word_document_whose_tags_would_fill_the_memory_is_refused(text: bytes) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("word/document.xml", b"<w:document>" + text)
    with pytest.raises(UnreadableError, match="2,000,000 tags and attributes"):
        read_pages(bomb.getvalue(), ".docx")


@pytest.mark.parametrize("text", ["<p>" * 2_000_001, "<p " + "a='' " * 2_000_001])
def test_html_whose_tags_would_fill_the_memory_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="2,000,000 tags and attributes"):
        read_pages(text.encode(), ".html")


def test_html_loses_what_is_not_content() -> None:
    html = """<html><head><title>Rules</title><style>p {}</style><script>alert(1)</script></head><body>
    <nav><a href="/">Home</a></nav><h2>Tea</h2><p>Tea is <b>free</b> for
    <a href="https://example.com/all">everyone</a>, snake_case and 2*3*4 included.</p><script>alert(2)</script>
    <ul><li>Green</li><li>Black</li></ul><img src="x.png" alt="A cup"><!-- secret --></body></html>"""
    assert html_to_markdown(html).strip() == (
        "# Rules\n\n## Tea\n\nTea is free for everyone, snake_case and 2*3*4 included.\n\n- Green\n- Black"
    )


def test_html_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(UnreadableError, match="damaged"):
        read_pages(b"<div>" * 50_000 + b"text", ".html")


@pytest.mark.parametrize("name", ["three-pages.pdf", "rules.docx"])
def test_a_file_that_was_cut_off_is_refused(name: str) -> None:
    data = (FILES / name).read_bytes()
    for share in (0.02, 0.2, 0.5, 0.9):
        with pytest.raises(UnreadableError, match="is damaged"):
            read_pages(data[: int(len(data) * share)], Path(name).suffix)


@pytest.mark.parametrize("unclosed", ["<a ", "<!--", '<a b="', "<![CDATA["])
def test_html_that_only_a_linear_reader_gets_through_is_read(unclosed: str) -> None:
    assert "Open." in html_to_markdown(f"<p>Open.</p>{unclosed * 150_000}")


def test_html_that_is_hardly_any_is_text() -> None:
    assert read_pages(b"notes.txt", ".html")[0].text == "notes.txt"


def test_a_zip_that_is_no_word_document_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as parts:
        parts.writestr("hello.txt", "Hello")
    with pytest.raises(UnreadableError, match="damaged"):
        read_pages(packed.getvalue(), ".docx")


@pytest.mark.parametrize(("size", "says"), [(0, "is empty"), (100 * 1024 * 1024 + 1, "is larger than 100 MiB")])
def test_a_file_that_is_empty_or_too_large_is_refused(size: int, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        read_pages(bytes(size), ".txt")
