"""What a file shows is in its text, or is named as left out, or is on a short list: no format escapes this."""

from collections.abc import Callable
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import mkepub
import pytest
import xlsxwriter
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PROG_ID

from shared.reading.readers import read_all_pages
from tests.hostile.office_files import package
from tests.reading.sources import squeezed, texts_of
from tests.reading.test_files_in_files import pdf
from tests.reading.test_files_in_files import workbook as small_workbook
from tests.reading.test_shown import W, cell, docx, p, r, raised_cell, raised_page, raised_slide, raised_text

FILES = [
    *sorted((Path(__file__).parent / "files").glob("[rt]*.*")),
    *sorted(path for path in Path("samples").rglob("*.*") if path.suffix in (".md", ".html", ".pdf", ".docx")),
]


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(cells)}</w:tr>"


def word() -> bytes:
    def part(kind: str, inner: str) -> bytes:
        return f'<w:{kind} xmlns:w="{W}">{inner}</w:{kind}>'.encode()

    note = '<w:footnote w:id="2"><w:p><w:r><w:t>The note below.</w:t></w:r></w:p></w:footnote>'
    comment = f'<w:comment w:id="0" w:author="Kim">{p("Who pays this?")}</w:comment>'
    box = f"<w:r><w:pict><w:txbxContent>{p('Text in a box')}</w:txbxContent></w:pict></w:r>"
    field = f'<w:fldSimple w:instr="DOCPROPERTY fee">{r("480 euros")}</w:fldSimple>'
    merged = "<w:vMerge/>"
    body = (
        p(r("The fee is ") + field + '<w:r><w:footnoteReference w:id="2"/></w:r>'),
        p(r("With a comment") + '<w:r><w:commentReference w:id="0"/></w:r>'),
        p(box),
        f"<w:sdt><w:sdtContent>{p('In a control')}</w:sdtContent></w:sdt>",
        p(f"<w:ins>{r('added')}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"),
        f"<w:tbl>{row(cell('Area', merged), cell('Boat'))}{row(cell('', merged), cell('Sail'))}</w:tbl>",
    )
    return docx(
        "".join(body),
        ("footnotes", "footnotes.xml", part("footnotes", note)),
        ("comments", "comments.xml", part("comments", comment)),
        ("header", "header1.xml", part("hdr", p("Harbour Office, version 4.2"))),
        ("package", "embeddings/fees.xlsx", small_workbook("417")),
        ("oleObject", "embeddings/oleObject1.bin", b"\xd0\xcf\x11\xe0"),
    )


def slides() -> bytes:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text_frame.text = "The plan"
    slide.placeholders[1].text_frame.text = "First\nSecond"
    table = slide.shapes.add_table(2, 2, 0, 0, 10, 10).table
    for number, one in enumerate(one for row in table.rows for one in row.cells):
        one.text = f"Cell {number}"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 10, 10).text_frame.text = "In a group"
    data = CategoryChartData()
    data.categories = ["North", "South"]
    data.add_series("Boats", (5.5, 7.25))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 10, 10, data)
    slide.shapes.add_ole_object(BytesIO(small_workbook("417")), PROG_ID.XLSX, 0, 0)
    notes = slide.notes_slide.notes_text_frame
    assert notes
    notes.text = "Say it slowly"
    file = BytesIO()
    show.save(file)
    return file.getvalue()


def sheets() -> bytes:
    file = BytesIO()
    book = xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Fees")
    sheet.write_row("A1", ["Boat", 417.5, True, "Sail & oar"])
    sheet.write_formula("A2", "=B1*2", None, 835)
    sheet.merge_range("A3:C3", "A merged title")
    sheet.write_comment("A1", "Ask the office")
    sheet.insert_textbox("E3", "In a box")
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": "=Fees!$B$1:$B$1", "name": "Costs"})
    chart.set_title({"name": "Costs of a year"})
    chart.set_y_axis({"name": "Euros"})
    sheet.insert_chart("E9", chart)
    book.close()
    return file.getvalue()


def open_text() -> bytes:
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{one}="{urn}:{one}:1.0"' for one in ("office", "text", "table", "drawing"))
    inner = (
        "<text:h text:outline-level='1'>Rules</text:h><text:p>A <text:span>part</text:span><text:note><text:note-body>"
        "<text:p>Below</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>Item</text:p>"
        "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>Boat</text:p>"
        "</table:table-cell><table:table-cell><text:p>417</text:p></table:table-cell></table:table-row></table:table>"
        "<text:p><drawing:frame><drawing:text-box><text:p>In a box</text:p></drawing:text-box></drawing:frame></text:p>"
        "<text:p><drawing:frame><drawing:object href='./Object 1'/></drawing:frame></text:p>"
        "<text:p><office:annotation><text:p>Who pays?</text:p></office:annotation></text:p>"
    )
    body = f"<office:body><office:text>{inner}</office:text></office:body>"
    fees = "<table:table><table:table-row><table:table-cell><text:p>Oar</text:p></table:table-cell></table:table-row>"
    sheet = f"<office:body><office:spreadsheet>{fees}</table:table></office:spreadsheet></office:body>"
    whole = {"content.xml": body, "Object 1/content.xml": sheet}
    parts = {name: f"<office:document-content {names}>{one}</office:document-content>" for name, one in whole.items()}
    return package({name: one.encode() for name, one in parts.items()})


def html() -> bytes:
    return b"""<html><head><title>x</title><script>no</script></head><body><nav>Menu</nav><h1>Rules</h1><p>A<sup>2</sup>
    <dl><dt>Boat<dd>417</dl><table><caption>Fees<tr><th rowspan=2>Area<td>North<tr><td>South</table>
    <details><summary>More</summary>Inside</details><form><label>Name</label><input value="Harbour Office">
    <textarea>Remarks</textarea><select><option>One</select></form><svg><text>Drawn</text></svg>
    <footer>Office hours</footer><ruby>\xe6\xbc\xa2<rt>kan</rt></ruby><pre>code here</pre></body></html>"""


def book() -> bytes:
    made = mkepub.Book(title="Rules of the harbour")
    made.add_page("First", "<p>The gate opens at nine.</p>")
    made.add_page("Second", "<table><tr><td>Boat</td><td>417</td></tr></table>")
    with TemporaryDirectory() as folder:
        made.save(f"{folder}/book.epub")
        return Path(folder, "book.epub").read_bytes()


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Fees", "Kim <kim@example.com>", "all@example.com"
    message.set_content("The fee is 417 euros.\n")
    message.add_attachment(small_workbook("417"), maintype="application", subtype="x", filename="fees.xlsx")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="plan.png")
    return bytes(message)


RTF = rb"""{\rtf1\ansi{\fonttbl{\f0 Arial;}}The fee is 10{\super 6} euros.\par
{\footnote A note below.}\trowd\intbl Boat\cell 417\cell\row\pard End.\par}"""

MADE: dict[str, tuple[Callable[[], bytes], str]] = {
    "word": (word, ".docx"),
    "slides": (slides, ".pptx"),
    "raised slide": (raised_slide, ".pptx"),
    "sheets": (sheets, ".xlsx"),
    "raised cell": (raised_cell, ".xlsx"),
    "open text": (open_text, ".odt"),
    "raised text": (raised_text, ".odt"),
    "page": (html, ".html"),
    "book": (book, ".epub"),
    "mail": (mail, ".eml"),
    "rich text": (lambda: RTF, ".rtf"),
    "pdf": (lambda: pdf(("plan.png", b"\x89PNG")), ".pdf"),
    "raised page": (raised_page, ".pdf"),
}


def lost(data: bytes, suffix: str) -> list[str]:
    """The texts of a file that are neither in what is read nor named."""
    pages = read_all_pages(data, suffix)
    told = squeezed(" ".join([*(page.text for page in pages), *(what for page in pages for what in page.left_out)]))
    sources = texts_of(data, suffix)
    assert sources, "the check itself reads nothing"
    return [text for text in sources if squeezed(text) not in told]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_of_the_suite_loses_nothing_in_silence(path: Path) -> None:
    assert lost(path.read_bytes(), path.suffix) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # mkepub keeps a folder open
@pytest.mark.parametrize("kind", MADE)
def test_a_file_of_other_programs_loses_nothing_in_silence(kind: str) -> None:
    make, suffix = MADE[kind]
    assert lost(make(), suffix) == []
