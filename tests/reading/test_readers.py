"""Each format becomes clean text with its headings, lists and tables."""

import datetime as dt
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from pptx import Presentation

from shared.reading import Page, UnreadableError
from shared.reading.after_reading import date_of
from shared.reading.limits import DOCUMENT_LIMITS
from shared.reading.markup import html_to_markdown
from shared.reading.readers import read_all_pages
from shared.retrieval import day_in
from tests.hostile.office_files import LAUGHS, epub, odt, package
from tests.reading.sources import read_pages

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


def changed_pdf(changed: bytes) -> bytes:
    """A PDF that was made in 2024, by a library that writes the time of either."""
    made = (FILES / "three-pages.pdf").read_bytes().replace(b"(D:20000101", b"(D:20240229")
    return made.replace(b"/ModDate (D:20240229", b"/ModDate (D:" + changed)


def workbook() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Prices").write_row(0, 0, ["Tea", 1])
        book.set_properties({"created": dt.datetime(2025, 3, 1, 23, 30)})  # noqa: DTZ001 (these files have no zone)
    return file.getvalue()


def presentation(changed: dt.datetime | None) -> bytes:
    """Without a date of its own it has that of the library's template."""
    file, made = io.BytesIO(), Presentation()
    anything: Any = made
    anything.slides.add_slide(anything.slide_layouts[0]).shapes.title.text_frame.text = "Tea"
    if changed:
        anything.core_properties.modified = changed
    made.save(file)
    return file.getvalue()


def with_parts(data: bytes, more: Mapping[str, str]) -> bytes:
    """The package with further parts, or others in place of its own."""
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    return package(parts | {name: text.encode() for name, text in more.items()})


def word(properties: str) -> bytes:
    """A Word document with these core properties."""
    kinds = "http://schemas.openxmlformats.org"
    office = f"{kinds}/officeDocument/2006/relationships/officeDocument"
    relations = (
        f'<Relationships xmlns="{kinds}/package/2006/relationships">'
        f'<Relationship Id="a" Type="{office}" Target="word/document.xml"/>'
        f'<Relationship Id="b" Type="{kinds}/package/2006/relationships/metadata/core-properties" '
        'Target="docProps/core.xml"/></Relationships>'
    )
    return with_parts((FILES / "rules.docx").read_bytes(), {"_rels/.rels": relations, "docProps/core.xml": properties})


def core(modified: str, before: str = "") -> str:
    times = f"<d:created>2024-02-29T10:00:00Z</d:created><d:modified>{modified}</d:modified>"
    return f'{before}<c:coreProperties xmlns:c="c" xmlns:d="d">{times}</c:coreProperties>'


def open_text(meta: str) -> bytes:
    about = f'<o:document-meta xmlns:o="o" xmlns:d="d" xmlns:m="m"><o:meta>{meta}</o:meta></o:document-meta>'
    return with_parts(odt("<text:p>Tea</text:p>"), {"meta.xml": about})


def book(metadata: str) -> bytes:
    made = epub({"1.html": b"<p>Tea"})
    with zipfile.ZipFile(io.BytesIO(made)) as parts:
        listed = parts.read("book/book.opf").decode()
    about = f'<metadata xmlns:dc="dc">{metadata}</metadata><manifest>'
    return with_parts(made, {"book/book.opf": listed.replace("<manifest>", about)})


def page(*meta: str) -> bytes:
    return f"<html><head>{''.join(f'<meta {one}>' for one in meta)}</head><body><p>Tea".encode()


def front(*lines: str, mark: str = "---") -> bytes:
    return "\n".join((mark, *lines, mark, "# Tea", "date: 2020-02-02")).encode()


LATER = f"{dt.datetime.now(dt.UTC).year + 2}-01-01"
DATED: dict[str, tuple[str, bytes, str]] = {
    "when a PDF was changed": (".pdf", changed_pdf(b"20250301"), "2025-03-01"),
    "when it was made, where the change is no time": (".pdf", changed_pdf(b"20251301"), "2024-02-29"),
    "a PDF of a library that writes none": (".pdf", (FILES / "three-pages.pdf").read_bytes(), ""),
    "a workbook": (".xlsx", workbook(), "2025-03-01"),
    "a presentation": (".pptx", presentation(dt.datetime(2025, 3, 1)), "2025-03-01"),  # noqa: DTZ001 (these files have no zone)
    "the template of a library": (".pptx", presentation(None), ""),
    "a Word document": (".docx", word(core("2025-03-01T10:00:00Z")), "2025-03-01"),
    "one that was changed in the future": (".docx", word(core(f"{LATER}T10:00:00Z")), "2024-02-29"),
    "one whose change is a book": (".docx", word(core("2" * 1_000_000)), "2024-02-29"),
    "one whose properties never end": (".docx", word(core("&e9;", LAUGHS)), "2024-02-29"),
    "one whose properties are none": (".docx", word("2025-03-01"), ""),
    "an OpenDocument text": (
        ".odt",
        open_text("<m:creation-date>2024-02-29</m:creation-date><d:date>2025-03-01T1</d:date>"),
        "2025-03-01",
    ),
    "one that was never changed": (
        ".odt",
        open_text("<m:creation-date>2024-02-29T10:00:00</m:creation-date>"),
        "2024-02-29",
    ),
    "a book": (
        ".epub",
        book('<dc:date>1865-11-26</dc:date><meta property="dcterms:modified">2025-03-01T10:00:00Z</meta>'),
        "2025-03-01",
    ),
    "an old book": (".epub", book("<dc:date>1865-11-26</dc:date>"), "1865-11-26"),
    "an e-mail": (".eml", b"From: a@example.com\nDate: Sat, 1 Mar 2025 00:10:00 +0900\n\nTea", "2025-03-01"),
    "one whose date is none": (".eml", b"From: a@example.com\nDate: Sat, 99 M\xff 99999\n\nTea", ""),
    "a web page": (
        ".html",
        page('name="date" content="2024-02-29"', 'property="article:modified_time" content="2025-03-01T10:00"'),
        "2025-03-01",
    ),
    "one that says it in Dublin Core": (".html", page('name="DCTERMS.modified" content="2025-03-01"'), "2025-03-01"),
    "one without a date": (".html", page('name="date"', 'charset="utf-8"'), ""),
    "Markdown with a date": (".md", front("title: Tea", "date: 2025-03-01T10:00:00+01:00"), "2025-03-01"),
    "Markdown that was changed": (
        ".md",
        front("last-updated = '2025-03-01'", "date = 2024-02-29", mark="+++"),
        "2025-03-01",
    ),
    "Markdown without front matter": (".md", b"date: 2025-03-01\n\nTea", ""),
    "a text": (".txt", front("date: 2025-03-01"), ""),
}


@pytest.mark.parametrize("kind", DATED)
def test_a_document_has_the_day_that_it_states(kind: str) -> None:
    suffix, data, day = DATED[kind]
    stated = read_all_pages(data, suffix)[0].stated.date if suffix == ".eml" else None
    assert (stated or date_of(data, suffix, DOCUMENT_LIMITS)) == day


@pytest.mark.parametrize("kind", ["when a PDF was changed", "one whose properties are none"])
def test_pages_have_the_day_of_their_document_and_are_read_without_it(kind: str) -> None:
    suffix, data, day = DATED[kind]
    assert {one.stated.date for one in read_pages(data, suffix)} == {day}


ODD = (
    *("", "soon", "2025", "2025-3-1", "2025-0301", "2025-02-30", "²⁰²⁵-03-01", "-2025-03-01"),
    *("0000-01-01", "0001-01-01", "9999-12-31", LATER, "1970-01-01T00:00:00Z"),
    *("2" * 1_000_000, " " * 1_000_000 + "2025-03-01"),
)


def test_a_date_that_can_be_no_documents_own_is_none() -> None:
    assert {odd[:30]: day_in(odd) for odd in ODD} == {odd[:30]: "" for odd in ODD}
