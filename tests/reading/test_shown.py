"""What a file shows is in its text: cells in their columns, raised digits, fields and boxes of Word documents."""

import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest
import xlsxwriter
from pptx import Presentation
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

from tests.hostile.office_files import package
from tests.reading.sources import read_pages

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def html(body: str) -> str:
    return read_pages(body.encode(), ".html")[0].text


def related(*parts: tuple[str, str, str]) -> bytes:
    """The relations to parts, each with its id, its kind and its name."""
    inner = "".join(f'<Relationship Id="{one}" Type="{OFFICE}/{kind}" Target="{to}"/>' for one, kind, to in parts)
    return f'<Relationships xmlns="{RELATIONS}">{inner}</Relationships>'.encode()


def docx(body: str, *parts: tuple[str, str, bytes], namespace: str = W) -> bytes:
    """A Word document with this body, and with parts that its relations `r0`, `r1` … name: kind, name, content."""
    named = [(f"r{number}", kind, name) for number, (kind, name, _) in enumerate(parts)]
    document = f'<w:document xmlns:w="{namespace}" xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>'
    return package(
        {
            "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "_rels/.rels": related(("r0", "officeDocument", "word/document.xml")),
            "word/document.xml": document.encode(),
            "word/_rels/document.xml.rels": related(*named),
            **{f"word/{name}": content for _, name, content in parts},
        }
    )


def word(body: str, *parts: tuple[str, str, bytes], namespace: str = W) -> str:
    return read_pages(docx(body, *parts, namespace=namespace), ".docx")[0].text


def r(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(inner: str) -> str:
    return f"<w:p>{inner if inner.startswith('<') else r(inner)}</w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tr><th>Area<th>Goods<th>Units<tr><td rowspan=2>EU<td>Cable<td>12<tr><td>Hub<td>7<tr><td>US<td>Cable<td>3",
            ["| Area | Goods | Units |", "| EU | Cable | 12 |", "| EU | Hub | 7 |", "| US | Cable | 3 |"],
        ),
        (
            """<caption>Sales</caption><thead><tr><th rowspan=2>Shop<th colspan=2>2025<tr><th>Q1<th>Q2</thead>
            <tfoot><tr><th>Sum<td colspan=2>22</tfoot><tbody><tr><td>A<td>1<td>21</tbody>""",
            ["| Shop | 2025 | 2025 |", "| Shop | Q1 | Q2 |", "| A | 1 | 21 |", "| Sum | 22 |  |"],
        ),
        (
            "<tr><td colspan=2>A title</td></tr><tr><td>a|b</td><td rowspan=0>c</td></tr><tr><td>d</td></tr>",
            ["| A title |  |", r"| a\|b | c |", "| d | c |"],
        ),
        (
            "<tr><th>Plan<th>Pays<tr><td>Basic<td><table><tr><td>Tooth<td>50<tr><td>Eye<td>20</table></td></tr>",
            ["| Plan | Pays |", "| Basic | Tooth, 50; Eye, 20 |"],
        ),
        (
            "<tr><td><table><tr><td>A<td>B<tr><td>1<td>2</table></td></tr>",
            ["| A | B |", "| 1 | 2 |"],
        ),
    ],
)
def test_each_row_of_a_table_has_all_its_cells(table: str, rows: list[str]) -> None:
    lines = html(f"<table>{table}</table>").splitlines()
    head, rule, *others = [line for line in lines if line.startswith("|")]
    assert ([head, *others], set(rule)) == (rows, set("| -"))
    assert ("Sales" in lines) == ("caption" in table)


def test_a_cell_that_spans_more_than_a_file_may_hold_is_refused() -> None:
    spans = "<tr>" + "<td rowspan=60000 colspan=1000>x</td>" * 3 + "</tr>"
    with pytest.raises(Exception, match="holds more than"):
        html(f"<table>{spans}{'<tr></tr>' * 3000}</table>")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("10<sup>6</sup> m<sup>2</sup>", "10^6 m^2"),
        ("15<sup>1</sup> euros", "15^1 euros"),
        ("10<sup>−3</sup> kg", "10^−3 kg"),
        ("2011<sub>15ya</sub>", "2011_15ya"),
        ("CO<sub>2</sub>, the 4<sup>th</sup>, see <sup>2</sup>", "CO2, the 4th, see 2"),
        ("<ruby>契約<rp>(</rp><rt>けいやく</rt><rp>)</rp></ruby>は", "契約は"),
    ],
)
def test_what_is_raised_or_lowered_stays_apart_from_the_number_before(shown: str, text: str) -> None:
    assert html(f"<p>{shown}</p>") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p(r("It is ") + f'<w:fldSimple w:instr="x">{r("480 euros")}</w:fldSimple>' + r(".")), "It is 480 euros."),
        (
            p(f"<w:r><w:ruby><w:rt>{r('けい')}</w:rt><w:rubyBase>{r('契約')}</w:rubyBase></w:ruby></w:r>" + r("は")),
            "契約は",
        ),
        (p(r("Order ") + f'<w:bdo w:val="ltr">{r("7731")}</w:bdo>' + r(" is due")), "Order 7731 is due"),
        (p(f'<w:dir w:val="ltr">{r("75 euros")}</w:dir>'), "75 euros"),
        (p("<w:r><w:t>Monday</w:t><w:cr/><w:t>Tuesday</w:t></w:r>"), "Monday\nTuesday"),
        (p("<w:r><w:drawing><a><w:txbxContent>" + p("55") + "</w:txbxContent></a></w:drawing></w:r>"), "55"),
        (
            p(
                '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
                f"<mc:Choice><w:drawing><w:txbxContent>{p('Once')}</w:txbxContent></w:drawing></mc:Choice><mc:Fallback>"
                f"<w:pict><w:txbxContent>{p('Once')}</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
            ),
            "Once",
        ),
        (
            p(
                r("Pays by ") + '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/>'
                '<w:listEntry w:val="cash"/><w:listEntry w:val="card"/></w:ddList></w:ffData></w:fldChar></w:r>'
                '<w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
            ),
            "Pays by card",
        ),
        (p(r("There") + "<w:del><w:r><w:delText>never</w:delText></w:r></w:del>"), "There"),
    ],
)  # fmt: skip
def test_word_shows_what_is_in_fields_boxes_and_readings(body: str, text: str) -> None:
    assert word(body) == text


def test_rows_of_word_keep_their_columns() -> None:
    start, more = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = [
        f"<w:tr>{cell('City')}{cell('Season')}{cell('Price')}</w:tr>",
        f'<w:bookmarkStart w:id="1" w:name="x"/><w:tr>{cell("Oslo", start)}{cell("summer")}{cell("60")}</w:tr>',
        f"<w:tr>{cell('', more)}{cell('winter')}{cell('70')}</w:tr>",
        f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{cell("spring")}{cell("65")}</w:tr>',
        f"<w:sdt><w:sdtContent><w:tr>{cell('Rom')}{cell('all')}{cell('80')}</w:tr></w:sdtContent></w:sdt>",
    ]
    rows_read = word(f"<w:tbl>{''.join(rows)}</w:tbl>").splitlines()[2:]
    assert rows_read == [
        "| Oslo | summer | 60 |",
        "| Oslo | winter | 70 |",
        "|  | spring | 65 |",
        "| Rom | all | 80 |",
    ]


def test_parts_that_word_shows_are_read_where_they_are() -> None:
    names = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    diagram = b'<d:m xmlns:d="d" xmlns:a="a"><a:p><a:t>Plan, then do</a:t></a:p></d:m>'
    body = (
        p("Offer") + '<w:altChunk r:id="r0"/>' + p(f'<w:r><w:drawing><d:relIds {names} r:dm="r1"/></w:drawing></w:r>')
    )
    parts = ("aFChunk", "part.html", b"<p>The roof costs 9,400 euros.</p>"), ("diagramData", "data1.xml", diagram)
    assert word(body, *parts) == "Offer\n\nThe roof costs 9,400 euros.\n\n- Plan, then do"


def test_a_style_that_is_based_on_one_of_headings_makes_headings() -> None:
    def style(one: str, name: str, base: str = "") -> str:
        based = f'<w:basedOn w:val="{base}"/>' * bool(base)
        return f'<w:style w:type="paragraph" w:styleId="{one}"><w:name w:val="{name}"/>{based}</w:style>'

    inner = style("berschrift2", "heading 2") + style("House", "House", "berschrift2")
    styles = f'<w:styles xmlns:w="{W}">{inner}</w:styles>'
    body = '<w:p><w:pPr><w:pStyle w:val="House"/></w:pPr>' + r("Leave") + "</w:p>"
    assert word(body, ("styles", "styles.xml", styles.encode())) == "## Leave"


def test_the_strict_form_of_word_has_all_that_the_usual_one_has() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    assert word(p(f'<w:fldSimple w:instr="x">{r("480")}</w:fldSimple>'), namespace=strict) == "480"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("April 15, 2023;402;25.00\nApril 14, 2023;444;31.00\n", "| April 14, 2023 | 444 | 31.00 |"),
        ("Name, Vorname;Gehalt;Ort\nWeber, Anna;3500;Ulm\n", "| Weber, Anna | 3500 | Ulm |"),
        ("1,5;2,5\n3,5;4,5\n", "| 3,5 | 4,5 |"),
        ("id,name,note\n1,A;B,x\n2,C;D,y\n", "| 2 | C;D | y |"),
        ('1, "Weber, Anna", "pays 30"\n2, "Horn, Udo", "pays 40"\n', "| 2 | Horn, Udo | pays 40 |"),
    ],
)
def test_values_are_parted_by_what_parts_them(text: str, row: str) -> None:
    assert read_pages(text.encode(), ".csv")[0].text.splitlines()[-1] == row


@pytest.mark.parametrize(
    ("plain", "page", "shown"),
    [
        ("Your program cannot show HTML.", "<p>Open from 8 to 17 on all days.</p>", "Open from 8 to 17 on all days."),
        ("", "<p>Open from 8 to 17.</p>", "Open from 8 to 17."),
        ("Open from 8 to 17.\n> quoted", "<p>Open from <b>8</b> to 17.</p>", "Open from 8 to 17.\n> quoted"),
        ("Open from 8 to 17.", "", "Open from 8 to 17."),
    ],
)
def test_of_two_forms_of_an_email_the_one_that_says_it_is_read(plain: str, page: str, shown: str) -> None:
    parts = (f"--b\nContent-Type: text/{kind}\n\n{text}\n" for kind, text in (("plain", plain), ("html", page)))
    mail = f"From: a@example.com\nContent-Type: multipart/alternative; boundary=b\n\n{''.join(parts)}--b--\n"
    assert read_pages(mail.encode(), ".eml")[0].text.split("\n\n", 2)[2] == shown


def pdf(*notes: str) -> bytes:
    """A page that says "Surname:", with these annotations."""
    named = " ".join(f"{number} 0 R" for number in range(5, 5 + len(notes)))
    fonts = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{named}] >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Annots [{named}] /Resources {fonts} >>",
        "<< /Length 43 >>\nstream\nBT /F1 11 Tf 72 720 Td (Surname:) Tj ET    \nendstream",
        *(f"<< /Type /Annot /Rect [150 698 300 714] {note} >>" for note in notes),
    ]
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n%%EOF\n".encode()


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("/Subtype /Widget /FT /Tx /T (surname) /V (Halvorsen)", "surname: Halvorsen"),
        ("/Subtype /Widget /FT /Tx /T (surname)", ""),
        ("/Subtype /Widget /FT /Btn /T (member) /V /Yes /AS /Yes", "member: Yes"),
        ("/Subtype /Widget /FT /Btn /T (member) /V /Off /AS /Off", ""),
        ("/Subtype /FreeText /Contents (Approved on 3 March)", "Approved on 3 March"),
        ("/Subtype /Text /Contents <FEFF00FC>", "ü"),
        ("/Subtype /Link /Contents (where it leads)", ""),
    ],
)
def test_what_was_typed_onto_a_page_of_a_pdf_is_read(note: str, text: str) -> None:
    assert read_pages(pdf(note), ".pdf")[0].text == f"Surname:\n\n{text}".strip()


@pytest.mark.parametrize("suffix", [".vtt", ".srt", ".rst", ".adoc", ".json", ".yaml", ".xml", ".log", ".py", ".tex"])
def test_formats_of_text_are_read_as_they_are(suffix: str) -> None:
    text = "00:01:02 <v Ann>The roof costs 9,400 euros."
    assert read_pages(text.encode(), suffix)[0].text == text


def test_of_a_notebook_the_cells_are_read_and_the_results_are_named() -> None:
    cells = '[{"source": ["# Fees\\n", "In euros."]}, {"source": "fee = 9", "outputs": [{"data": {"x": "iVBO"}}]}]'
    (page,) = read_pages(f'{{"cells": {cells}}}'.encode(), ".ipynb")
    assert (page.text, page.left_out) == ("# Fees\nIn euros.\n\nfee = 9", ("results of cells",))


def test_a_saved_page_is_read_and_its_pictures_are_named() -> None:
    parts = "--b\nContent-Type: text/html\n\n<p>Open at 8.</p>\n--b\nContent-Type: image/png\n\nx\n--b--\n"
    saved = f"From: <Saved by a browser>\nSubject: Hours\nContent-Type: multipart/related; boundary=b\n\n{parts}"
    (page,) = read_pages(saved.encode(), ".mht")
    assert page.text.endswith("Open at 8.")
    assert page.left_out == ("image/png",)


def raised_slide() -> bytes:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    xml = "".join(
        f'<a:r><a:rPr baseline="{place}"/><a:t>{text}</a:t></a:r>'
        for text, place in (("10", "0"), ("6", "30000"), (" m, CO", "0"), ("2", "-25000"))
    )
    frame = slide.shapes.add_textbox(0, 0, 10, 10).text_frame
    frame.text = "marked"
    file = BytesIO()
    show.save(file)
    return replaced(file.getvalue(), "ppt/slides/slide1.xml", rb"<a:r><a:t>marked</a:t></a:r>", xml.encode())


def replaced(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """A package in one part of which `old` is replaced."""
    with zipfile.ZipFile(BytesIO(data)) as parts:
        content = {one: parts.read(one) for one in parts.namelist()}
    assert old in content[name]
    content[name] = content[name].replace(old, new)
    return package(content)


def raised_cell() -> bytes:
    file = BytesIO()
    book = xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Sheet")
    up, down = book.add_format({"font_script": 1}), book.add_format({"font_script": 2})
    sheet.write_rich_string("A1", "10", up, "6", " m, CO", down, "2")
    book.close()
    return file.getvalue()


def raised_text() -> bytes:
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{one}="{urn}:{one}:1.0"' for one in ("office", "text", "style"))
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:text-position="{place}"/></style:style>'
        for name, place in (("up", "super 58%"), ("down", "-20% 58%"), ("flat", "0% 100%"))
    )
    shown = (("", "1"), ("flat", "0"), ("up", "6"), ("flat", " m, CO"), ("down", "2"))
    spans = "".join(f'<text:span text:style-name="{style}">{text}</text:span>' for style, text in shown)
    body = f"<office:body><office:text><text:p>{spans}</text:p></office:text></office:body>"
    content = f"<office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles>{body}"
    return package({"content.xml": f"{content}</office:document-content>".encode()})


def raised_page() -> bytes:
    file = BytesIO()
    text = Paragraph("10<super>6</super> m, CO<sub>2</sub>", getSampleStyleSheet()["Normal"])
    SimpleDocTemplate(file).build([text])
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "suffix"),
    [(raised_slide, ".pptx"), (raised_cell, ".xlsx"), (raised_text, ".odt"), (raised_page, ".pdf")],
)
def test_raised_digits_of_other_formats_stay_apart_from_the_number_before(
    make: Callable[[], bytes], suffix: str
) -> None:
    assert "10^6 m, CO2" in read_pages(make(), suffix)[0].text


def test_what_was_typed_into_the_fields_of_a_page_is_read() -> None:
    assert html('<p>Name: <input value="Halvorsen"><input type="hidden" value="no"></p>') == "Name: Halvorsen"


def test_notes_and_raised_digits_of_rich_text_are_read_and_boxes_are_named() -> None:
    text = rb"{\rtf1\ansi Some 10{\fs20\super 6} euros{\footnote A note.} {\*\annotation Who pays?}{\shptxt box}\par}"
    (page,) = read_pages(text, ".rtf")
    assert page.text.split() == ["Some", "10^6", "euros", "A", "note.", "Who", "pays?"]
    assert page.left_out == ("text boxes",)


def test_what_is_drawn_on_a_sheet_is_read() -> None:
    file = BytesIO()
    book = xlsxwriter.Workbook(file)
    sheet = book.add_worksheet("Sheet")
    sheet.write_column("A1", [5, 7])
    sheet.insert_textbox("C3", "Approved on 3 March")
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": "=Sheet!$A$1:$A$2", "name": "Boats"})
    chart.set_title({"name": "Fleet"})
    chart.set_x_axis({"name": "Year of launch"})
    sheet.insert_chart("E5", chart)
    book.close()
    text = read_pages(file.getvalue(), ".xlsx")[0].text
    assert "\n\nApproved on 3 March\n\nFleet\n\nYear of launch\n\n|  | Boats |" in text


def test_the_headers_and_footers_of_printed_sheets_are_read_without_their_codes() -> None:
    file = BytesIO()
    book = xlsxwriter.Workbook(file)
    for name in ("Fees", "Boats", "Empty"):
        sheet = book.add_worksheet(name)
        sheet.set_header('&L&"Arial,Bold"&Kff0000Fees of 2026&C&A&R&14 Kim && Son')
        sheet.set_footer("Page &P of &N" if name == "Fees" else "&CNot for the public, &D")
        sheet.write("A1", None if name == "Empty" else 417)
    book.close()
    assert [page.text.partition("\n\n")[2] for page in read_pages(file.getvalue(), ".xlsx")] == [
        "417\n\nHeader: Fees of 2026 Kim & Son",
        "417\n\nHeader: Fees of 2026 Kim & Son\n\nFooter: Not for the public,",
    ]


def test_the_text_of_wordart_is_text() -> None:
    art = '<w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textpath string="Open day"/></v:shape></w:pict>'
    assert read_pages(docx(p(r("Before ") + f"<w:r>{art}</w:r>")), ".docx")[0].text.split() == ["Before", "Open", "day"]
