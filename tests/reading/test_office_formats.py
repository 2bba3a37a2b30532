"""Presentations, workbooks, books, e-mails, tables and rich text, written by libraries of others, become text."""

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from copy import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import mkepub
import pytest
import xlwt
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI

from shared.reading import Page, UnreadableError
from shared.reading.limits import UPLOAD_LIMITS, ReadLimitError
from shared.reading.number_formats import shown_number
from shared.reading.readers import read_all_pages
from shared.reading.slides import read_slides
from tests.hostile.office_files import cells, epub, nested_eml, package, pptx, text_box, xlsx
from tests.reading.sources import read_pages

FILES = Path(__file__).parent / "files"
OLD_OFFICE = b"\xd0\xcf\x11\xe0" + bytes(600)
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
EMU = 914_400
"""Units of an inch."""


def read(data: bytes, suffix: str) -> str:
    return "\n\n".join(page.text for page in read_pages(data, suffix))


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def presentation() -> bytes:
    made = Presentation()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text_frame.text = "Tea\vkitchen"
    body = first.placeholders[1].text_frame
    body.text = "Tea is free."
    under = body.add_paragraph()
    under.text, under.level = "Mate too.", 1
    if notes := first.notes_slide.notes_text_frame:
        notes.text = "Say hello first."
    second = made.slides.add_slide(made.slide_layouts[6])
    for place, text in ((5, "below"), (1, "above"), (3, "between")):
        second.shapes.add_textbox(0, place * EMU, EMU, EMU).text_frame.text = text
    second.shapes.add_group_shape().shapes.add_textbox(0, 6 * EMU, EMU, EMU).text_frame.text = "In a group"
    table = second.shapes.add_table(3, 2, 0, 7 * EMU, EMU, EMU).table
    for row, texts in enumerate((("Drink", "Price | €"), ("Green", "0.50"), ("Black", "0.40"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    beside = second.shapes.add_textbox(0, 9 * EMU, EMU, EMU)
    beside.text_frame.text = "Beside them"
    next(first.notes_slide.element.iter("{*}spTree")).append(beside.element)
    hidden = made.slides.add_slide(made.slide_layouts[5])
    hidden.shapes.title.text_frame.text = "Hidden"
    hidden.element.set("show", "0")
    last = made.slides.add_slide(made.slide_layouts[6])
    values = CategoryChartData()
    values.categories = ("East", "West")
    values.add_series("Sales", (19.2, 21))
    last.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, EMU, EMU, values)
    return saved(made.save)


def test_a_presentation_has_a_page_for_each_slide_that_is_shown() -> None:
    first, second, last = read_pages(presentation(), ".pptx")
    assert (first.number, second.number, last.number) == (1, 2, 4)
    assert first.text == "# Tea kitchen\n\n- Tea is free.\n  - Mate too.\n\nNotes: Say hello first.\nBeside them"
    assert second.text == (
        "above\n\nbetween\n\nbelow\n\nIn a group\n\n"
        "| Drink | Price \\| € |\n| --- | --- |\n| Green | 0.50 |\n| Black | 0.40 |"
    )
    assert last.text == "|  | Sales |\n| --- | --- |\n| East | 19.2 |\n| West | 21 |"


def test_the_text_of_merged_cells_of_a_slide_is_in_each_of_them() -> None:
    made = Presentation()
    table = made.slides.add_slide(made.slide_layouts[6]).shapes.add_table(3, 2, 0, 0, EMU, EMU).table
    for row, texts in enumerate((("Day", "Meal"), ("Monday", "Soup"), ("", "Cake"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    assert "| Monday | Soup |\n| Monday | Cake |" in read(saved(made.save), ".pptx")


DIAGRAM = (
    '<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst>'
    "<dgm:pt><dgm:t><a:p><a:r><a:t>Pick</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt><dgm:t><a:p/></dgm:t></dgm:pt>"
    "<dgm:pt><dgm:t><a:p><a:r><a:t>Dry </a:t></a:r><a:r><a:t>well</a:t></a:r></a:p></dgm:t></dgm:pt>"
    "</dgm:ptLst></dgm:dataModel>"
)


def test_a_slide_has_the_texts_of_its_diagrams_and_not_the_lines_that_all_slides_have() -> None:
    made: Any = Presentation()
    layout = made.slide_layouts[6]
    slide = made.slides.add_slide(layout)
    slide.shapes.add_textbox(0, 0, EMU, EMU).text_frame.text = "From leaf to cup"
    for footer in layout.placeholders:
        slide.shapes.clone_placeholder(footer)
    for footer in slide.placeholders:
        footer.text_frame.text = "Tea & Sons, 2026"
    name = PackURI("/ppt/diagrams/data1.xml")
    kind = "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"
    diagram = Part(name, kind, made.part.package, DIAGRAM.encode())
    slide.part.relate_to(diagram, f"{RELATIONSHIPS}/diagramData")
    assert len(slide.placeholders) == 3
    assert read(saved(made.save), ".pptx") == "From leaf to cup\n\n- Pick\n- Dry well"


def test_a_presentation_of_too_many_slides_is_refused() -> None:
    made: Any = Presentation()
    for _ in range(3):
        made.slides.add_slide(made.slide_layouts[6])
    with pytest.raises(ReadLimitError, match="more than 2 slides"):
        read_slides(saved(made.save), replace(UPLOAD_LIMITS, pages=2))


def workbook() -> bytes:
    """Two sheets that are shown, one that is not, and one that is empty. Formulas have no values: nothing ran them."""
    made = Workbook()
    made.remove(made.worksheets[0])
    sheet = made.create_sheet("Prices")
    sheet["A1"] = "Price list"
    rows = (
        ("Group", "Item", "Price", "Share", "Since", "At", "Free", "Total"),
        ("Tea", "Green", 1234.5, 0.125, dt.date(2026, 3, 5), dt.time(9, 30), True, "=C4*2"),
        (None, "Two\nlines | bar", 1_000_000, 0.1 + 0.2, dt.datetime(2026, 3, 5, 9, 30), None, False, None),  # noqa: DTZ001
    )
    for number, row in enumerate(rows, start=3):
        for column, value in enumerate(row, start=1):
            sheet.cell(number, column).value = value
    sheet["C4"].number_format, sheet["D4"].number_format = '#,##0.00 "€"', "0.0%"
    sheet["E4"].number_format = "dd.mm.yyyy"
    sheet.merge_cells("A4:A5")
    sheet["B9"] = "Ask for more."
    made.create_sheet("Hidden")["A1"] = "secret"
    made["Hidden"].sheet_state = "hidden"
    made.create_sheet("Empty")
    made.create_sheet("Last")["C1048576"] = "far down"
    return saved(made.save)


def test_a_workbook_has_a_page_for_each_sheet_that_is_shown_with_its_cells_as_shown() -> None:
    prices, last = read_pages(workbook(), ".xlsx")
    assert prices.text == (
        "## Prices\n\nPrice list\n\n"
        "| Group | Item | Price | Share | Since | At | Free | Total |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| Tea | Green | 1,234.50 € | 12.5% | 2026-03-05 | 09:30 | TRUE |  |\n"
        "| Tea | Two lines \\| bar | 1000000 | 0.3 | 2026-03-05 09:30 |  | FALSE |  |\n\nAsk for more."
    )
    assert last.text == "## Last\n\nfar down"


def test_merged_cells_as_wide_as_the_sheet_are_a_title() -> None:
    made = Workbook()
    sheet = made.worksheets[0]
    for row in (["Prices"], ["Drink", "Price"], ["Tea", "0.50"]):
        sheet.append(row)
    sheet.merge_cells("A1:B1")
    assert read(saved(made.save), ".xlsx") == "## Sheet\n\nPrices\n\n| Drink | Price |\n| --- | --- |\n| Tea | 0.50 |"


def test_a_formula_has_the_value_that_was_saved_and_is_not_evaluated() -> None:
    saved_value = xlsx(
        cells(b'<row><c><f>1+1</f><v>42</v></c><c t="str"><f>WEBSERVICE("http://127.0.0.1")</f></c></row>')
    )
    assert read(saved_value, ".xlsx") == "## Sheet\n\n42"


def test_rows_that_only_have_a_format_cost_nothing() -> None:
    rows = b"".join(b'<row r="%d" s="1" customFormat="1"/>' % row for row in range(2, 300_000))
    filled = b'<row r="1"><c r="A1"><v>7</v></c></row>'
    assert read(xlsx(b'<dimension ref="A1:XFD1048576"/>' + cells(filled + rows)), ".xlsx") == "## Sheet\n\n7"


def test_durations_are_shown_in_hours() -> None:
    made = Workbook()
    sheet = made.create_sheet("Hours", 0)
    sheet.append([dt.timedelta(hours=162, minutes=30), dt.timedelta(minutes=5, seconds=7), -dt.timedelta(minutes=90)])
    assert read(saved(made.save), ".xlsx").splitlines()[2] == "| 162:30 | 0:05:07 | -1:30 |"


def test_a_workbook_of_old_excel_versions_is_read() -> None:
    made = xlwt.Workbook()
    sheet = made.add_sheet("Old")
    for row, values in enumerate((("Drink", "Price"), ("Grüner Tee", 0.5))):
        for column, value in enumerate(values):
            sheet.write(row, column, value)
    assert read(saved(made.save), ".xls") == "## Old\n\n| Drink | Price |\n| --- | --- |\n| Grüner Tee | 0.5 |"


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.125, "0%", "13%"),
        (2.675, "0.00", "2.68"),
        (-1234.5, "#,##0", "-1,235"),
        (1e300, "0.00", f"1{'0' * 300}.00"),
        (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
        (-3.2, "0.0", "-3.2"),
        (5, "00000", "00005"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (1_234_567, "#,##0,", "1,235"),
        (9.99, "[$$-409]#,##0.00;[Red]-[$$-409]#,##0.00", "$9.99"),
        (7, '"Level "0" of 9"', "Level 7 of 9"),
        (1500, "0.00E+00", "1500"),
        (0.5, "# ?/?", "0.5"),
        (1e300, "General", "1e+300"),
    ],
)
def test_a_number_is_shown_as_its_format_says(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


def test_a_word_file_with_macros_is_read_like_one_without() -> None:
    word_file, with_macros = (FILES / "rules.docx").read_bytes(), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word_file)) as parts, zipfile.ZipFile(with_macros, "w") as changed:
        for part in parts.namelist():
            named = parts.read(part).replace(b"officedocument.wordprocessingml.document.main", b"WITH_MACROS")
            named = named.replace(b"vnd.openxmlformats-WITH_MACROS", b"vnd.ms-word.document.macroEnabled.main")
            changed.writestr(part, named)
        changed.writestr("word/vbaProject.bin", OLD_OFFICE)
    assert read_pages(with_macros.getvalue(), ".docm") == read_pages(word_file, ".docx")


@pytest.mark.parametrize("suffix", [".xlsx", ".xls", ".pptx"])
def test_a_protected_document_is_refused_with_what_to_do(suffix: str) -> None:
    with pytest.raises(UnreadableError, match="protected by a password"):
        read_pages(OLD_OFFICE, suffix)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # mkepub keeps a folder open
def test_a_book_is_read_in_the_order_of_its_chapters(tmp_path: Path) -> None:
    book = mkepub.Book("Tea")
    book.add_page("First", "<h1>Leaves</h1><p>Water at 80&#160;°C.</p>")
    book.add_page(
        "Second", "<h1>Cups</h1><table><tr><th>Cup</th><th>Size</th></tr><tr><td>Small</td><td>1</td></tr></table>"
    )
    book.save(str(tmp_path / "tea.epub"))
    pages = read_pages((tmp_path / "tea.epub").read_bytes(), ".epub")
    assert pages[0].text == "# Tea"
    chapters = [page.text for page in pages if "# Leaves" in page.text or "# Cups" in page.text]
    assert [text.partition("# ")[2].partition("\n")[0] for text in chapters] == ["Leaves", "Cups"]
    assert "Water at 80 °C." in chapters[0]
    assert "| Cup | Size |\n| --- | --- |\n| Small | 1 |" in chapters[1]


def test_a_chapter_that_the_spine_names_again_is_read_once_and_one_that_is_not_there_is_left_out() -> None:
    spine = '<itemref idref="1.html"/>' * 1_000 + '<itemref idref="gone.html"/>'
    data = epub({"1.html": b"<p>One.", "2.html": b"<p>Two."}, spine=spine)
    assert read(data, ".epub") == "One.\n\nTwo."


def test_names_in_a_book_that_lead_out_of_it_lead_nowhere() -> None:
    data = epub({"1.html": b"<p>Only this."}, spine='<itemref idref="out"/>')
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    item = b'<item id="out" href="../../../../../../../../etc/passwd" media-type="text/html"/></manifest>'
    parts["book/book.opf"] = parts["book/book.opf"].replace(b"</manifest>", item)
    assert read(package(parts), ".epub") == "Only this."


def test_an_encrypted_book_is_refused() -> None:
    encrypted = b'<encryption><CipherReference URI="book/1.html"/></encryption>'
    with zipfile.ZipFile(io.BytesIO(epub({"1.html": b"\x01\x02"}))) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    with pytest.raises(UnreadableError, match="DRM"):
        read_pages(package({**parts, "META-INF/encryption.xml": encrypted}), ".epub")


@pytest.mark.parametrize("suffix", [".xlsx", ".pptx", ".epub"])
def test_entities_of_other_files_are_not_read(suffix: str) -> None:
    before = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    data = {
        ".xlsx": lambda: xlsx(cells(b'<row><c t="str"><v>Before&x;after</v></c></row>'), before=before),
        ".pptx": lambda: pptx(text_box("Before&x;after"), before=before),
        ".epub": lambda: epub({"1.html": before.encode() + b"<p>Before&x;after"}, before=before),
    }[suffix]()
    try:
        text = read(data, suffix)
    except UnreadableError:
        text = ""
    assert "root:" not in text


def mail() -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"] = "Größe der Tassen", "Zoë Müller <zoe@example.com>"
    made["To"], made["Date"] = "tea@example.com", "Thu, 05 Mar 2026 09:30:00 +0100"
    made.set_content("Die Tassen sind größer.\n", charset="iso-8859-1")
    made.add_alternative("<p>Die Tassen sind <b>größer</b>.</p><img src='https://example.com/x.png'>", subtype="html")
    return made


HEADERS = (
    "# Größe der Tassen\n\nFrom: Zoë Müller <zoe@example.com>\nTo: tea@example.com\n"
    "Date: Thu, 05 Mar 2026 09:30:00 +0100\n\nDie Tassen sind größer."
)


def test_an_email_has_its_headers_its_text_once_and_the_attachments_that_can_be_read() -> None:
    made = mail()
    made.add_attachment(b"Drink;Price\nTea;0,50\n", maintype="text", subtype="csv", filename="Preise.csv")
    made.add_attachment((FILES / "rules.docx").read_bytes(), maintype="application", subtype="x", filename="rules.docx")
    made.add_attachment(b"\x89PNG\r\n", maintype="image", subtype="png", filename="cup.png")
    made.add_attachment(b"no PDF", maintype="application", subtype="pdf", filename="broken.pdf")
    made.add_attachment(mail())
    assert read(made.as_bytes(), ".eml") == (
        f"{HEADERS}\n\n"
        "## Attachment: Preise.csv\n\n| Drink | Price |\n| --- | --- |\n| Tea | 0,50 |\n\n"
        f"## Attachment: rules.docx\n\n{read((FILES / 'rules.docx').read_bytes(), '.docx')}\n\n"
        "Attachment, not read: cup.png\n\nAttachment, not read: broken.pdf (is damaged, or no PDF.)\n\n"
        f"## Attachment: e-mail\n\n{HEADERS}"
    )


def test_an_email_that_is_only_html_is_read_and_fetches_nothing() -> None:
    made = EmailMessage()
    made["From"] = "a@example.com"
    made.set_content("<h2>Tea</h2><img src='https://example.com/x.png' alt='x'><p>Is free.</p>", subtype="html")
    assert read(made.as_bytes(), ".eml") == "# E-mail\n\nFrom: a@example.com\n\n## Tea\n\nIs free."


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_headers_that_are_not_encoded_or_wrongly_are_read_as_well_as_can_be(encoding: str) -> None:
    data = "From: Jörg\nSubject: =?nonsense?q?Tee?=\n\nText.".encode(encoding)
    assert read(data, ".eml").endswith("Text.")
    assert ("Jörg" in read(data, ".eml")) or encoding != "utf-8"


def test_emails_in_one_another_are_read_down_to_a_depth_and_then_named() -> None:
    text = read(nested_eml(20), ".eml")
    assert [f"level {number}" in text for number in range(7)] == [True] * 6 + [False]
    assert "Attachment, not read: e-mail (it is in too many others)" in text


def test_the_attachments_of_an_email_share_its_limits() -> None:
    made = mail()
    for number in range(3):
        made.add_attachment("word " * 1_000_000, filename=f"{number}.txt")
    with pytest.raises(ReadLimitError, match="characters"):
        read_all_pages(made.as_bytes(), ".eml", None, UPLOAD_LIMITS)


def test_what_is_no_email_is_refused() -> None:
    with pytest.raises(UnreadableError, match="no e-mail"):
        read_pages(b"just text", ".eml")


TABLE = "| Name | Size |\n| --- | --- |\n| Größe | 1,5 |\n| two lines \\| bar | 2 |"
ROWS = 'Name{0}Size\r\nGröße{0}"1,5"\r\n\r\n"two\r\nlines | bar"{0}2\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_values_are_read_with_any_delimiter_and_in_any_encoding(delimiter: str, encoding: str) -> None:
    assert read(ROWS.format(delimiter).encode(encoding), ".csv") == TABLE


def test_a_file_may_name_its_delimiter_and_tsv_has_tabs() -> None:
    assert read(b"sep=|\na,x|b\n1,5|2", ".csv") == "| a,x | b |\n| --- | --- |\n| 1,5 | 2 |"
    assert read(b"a,x\tb\n1,5\t2", ".tsv") == "| a,x | b |\n| --- | --- |\n| 1,5 | 2 |"


def test_rows_of_different_lengths_keep_all_their_values() -> None:
    assert read(b"a,b\n1,2,3\n4", ".csv") == "| a | b |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 |"


def test_a_hundred_thousand_rows_are_read() -> None:
    data = "id,name,city\n" + "".join(f"{number},name {number},city\n" for number in range(100_000))
    lines = read(data.encode(), ".csv").splitlines()
    assert len(lines) == 100_002
    assert lines[-1] == "| 99999 | name 99999 | city |"


@pytest.mark.parametrize(
    ("rtf", "text"),
    [
        (rb"{\rtf1\ansi\ansicpg1252 Gr\'f6\'dfe\par Tee}", "Größe\nTee"),
        (rb"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (rb"{\rtf1\ansi{\fonttbl{\f0\fcharset128 Gothic;}}\f0 \'93\'fa\'96\'7b}", "日本"),
        (rb"{\rtf1\ansi\uc1 \u8364?5 \u-10179?\u-8704?}", "€5 😀"),
        (rb"{\rtf1 Text{\pict\pngblip " + b"89504e47" * 1_000 + b"} after}", "Text after"),
        (
            rb"{\rtf1 Rows\par Drink\cell Price\cell\row Tea\cell 0.50\cell\row}",
            "Rows\n\n| Drink | Price |\n| --- | --- |\n| Tea | 0.50 |",
        ),
        (rb"{\rtf1 " + b"{" * 100_000 + b"deep" + b"}" * 100_000 + b"}", "deep"),
    ],
)
def test_rich_text_is_read_in_its_code_pages_with_its_tables_and_without_pictures(rtf: bytes, text: str) -> None:
    assert read_pages(rtf, ".rtf") == [Page(text)]


def test_what_is_no_rich_text_is_refused() -> None:
    with pytest.raises(UnreadableError, match="damaged"):
        read_pages(b"just text", ".rtf")
