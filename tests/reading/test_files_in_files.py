"""Files that are attached to others or embedded in them, and what of a file is named as not read."""

from io import BytesIO
from pathlib import Path

import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.enum.shapes import PROG_ID
from pptx.util import Inches
from pypdfium2 import PdfDocument
from reportlab.pdfgen.canvas import Canvas

from shared.reading.limits import UPLOAD_LIMITS
from shared.reading.readers import read_all_pages
from shared.reading.sandbox import sandbox_for_uploads
from tests.reading.test_shown import W, docx, p, r


def workbook(value: str) -> bytes:
    file = BytesIO()
    book = Workbook()
    book.create_sheet("Secret").sheet_state = "hidden"
    book.worksheets[0].append(["Fee", value])
    book.save(file)
    return file.getvalue()


def pdf(*attached: tuple[str, bytes]) -> bytes:
    file = BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 700, "The plan of the harbour.")
    canvas.save()
    document = PdfDocument(file.getvalue())
    for name, data in attached:
        document.new_attachment(name).set_data(data)
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def slides(*embedded: bytes) -> bytes:
    file = BytesIO()
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    for data in embedded:
        slide.shapes.add_ole_object(BytesIO(data), PROG_ID.XLSX, Inches(1), Inches(1))
    show.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (pdf(("fees.xlsx", workbook("417"))), ".pdf"),
        (docx(p("Text"), ("package", "embeddings/fees.xlsx", workbook("417"))), ".docx"),
        (slides(workbook("417")), ".pptx"),
    ],
)
def test_a_file_that_is_attached_or_embedded_is_read(data: bytes, suffix: str) -> None:
    pages = read_all_pages(data, suffix)
    assert "Fee" in (text := "\n".join(page.text for page in pages))
    assert "417" in text
    assert "## Attachment: " in text


def test_what_is_not_read_of_an_attached_file_is_named() -> None:
    _, page = read_all_pages(pdf(("plan.png", b"\x89PNG"), ("fees.xlsx", workbook("417"))), ".pdf")
    assert "Attachment, not read: plan.png" in page.text
    assert page.left_out == ("hidden sheet Secret of fees.xlsx", "attachment plan.png")


def test_an_object_of_an_old_program_is_named() -> None:
    (page,) = read_all_pages(docx(p("Text"), ("oleObject", "embeddings/object.bin", b"\xd0\xcf\x11\xe0")), ".docx")
    assert page.left_out == ("attachment object.bin",)


def test_files_within_files_are_read_down_to_a_depth() -> None:
    data = b"the innermost text"
    name = "inner.txt"
    for _ in range(UPLOAD_LIMITS.depth + 1):
        data, name = docx(p("Text"), ("package", f"embeddings/{name}", data)), "outer.docx"
    (page,) = read_all_pages(data, ".docx")
    assert page.text.count("## Attachment: outer.docx") == UPLOAD_LIMITS.depth
    assert "Attachment, not read: inner.txt (it is in too many others)" in page.text
    assert page.left_out[0].startswith("attachment inner.txt of outer.docx")


async def test_the_reader_of_a_pdf_reads_what_is_attached_to_it() -> None:
    sandbox = sandbox_for_uploads()
    _, page = await sandbox.read(pdf(("fees.xlsx", workbook("417"))), ".pdf")
    assert "| Fee | 417 |" in page.text


def made(*objects: str) -> bytes:
    """A PDF of these objects, of which the first is the catalog."""
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n%%EOF\n".encode()


def stream(text: str) -> str:
    return f"<< /Length {len(text)} >>\nstream\n{text}\nendstream"


@pytest.mark.parametrize(
    ("shown", "text", "left_out"),
    [
        ("<0024002500260027> Tj", "", ("pages with unreadable letters",)),
        (
            "<00240025> Tj /F2 11 Tf ( The gate opens at nine.) Tj",
            "The gate opens at nine.",
            ("pages with unreadable letters",),
        ),
        (
            "<0024> Tj /F2 11 Tf ( The gate of the harbour opens at nine.) Tj",
            "The gate of the harbour opens at nine.",
            ("single unreadable letters",),
        ),
        ("/F2 11 Tf (The gate opens at nine.) Tj", "The gate opens at nine.", ()),
    ],
)
def test_letters_without_a_meaning_are_no_text_and_are_named(shown: str, text: str, left_out: tuple[str, ...]) -> None:
    page, *_ = read_all_pages(without_letters(shown), ".pdf")
    assert (page.text, page.left_out) == (text, left_out)


def without_letters(shown: str) -> bytes:
    """A PDF with a font `F1` that does not say which letters it has, and a font `F2` that does."""
    fonts = "<< /F1 5 0 R /F2 7 0 R >>"
    descendant = "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Foo /CIDSystemInfo << /Registry (Adobe)"
    return made(
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font {fonts} >> >>",
        stream(f"BT /F1 11 Tf 72 720 Td {shown} ET"),
        "<< /Type /Font /Subtype /Type0 /BaseFont /Foo /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        f"{descendant} /Ordering (Identity) /Supplement 0 >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )


def xfa(template: str, data: str) -> bytes:
    """A PDF whose only page says to wait, with a form that its viewer makes."""
    packets = [
        ("template", f'<template xmlns="http://www.xfa.org/schema/xfa-template/3.3/">{template}</template>'),
        (
            "datasets",
            f'<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data>{data}</xfa:data></xfa:datasets>',
        ),
    ]
    named = " ".join(f"({name}) {number} 0 R" for number, (name, _) in enumerate(packets, 5))
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    return made(
        f"<< /Type /Catalog /Pages 2 0 R /NeedsRendering true /AcroForm << /XFA [{named}] /Fields [] >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources {font} >>",
        stream("BT /F1 11 Tf 72 720 Td (Please wait...) Tj ET"),
        *(stream(text) for _, text in packets),
    )


def test_a_form_that_its_viewer_makes_is_read_with_its_values() -> None:
    template = (
        "<subform><draw><value><text>Membership form</text></value></draw>"
        "<draw><value><image>iVBORw0KGgo</image></value></draw>"
        '<field name="surname"><caption><value><text>Surname</text></value></caption></field>'
        '<field name="secret" presence="hidden"><caption><value><text>Nobody</text></value></caption></field>'
        '<field name="town"><value><text>Oslo</text></value></field></subform>'
    )
    (page,) = read_all_pages(xfa(template, "<form1><surname>Halvorsen</surname><fee>480</fee></form1>"), ".pdf")
    assert page.text == "Membership form\n\nSurname: Halvorsen\n\ntown: Oslo\n\nfee: 480"


def test_what_is_above_and_below_each_page_of_a_word_document_is_there_once() -> None:
    xml = f'<w:hdr xmlns:w="{W}">{p(r("Harbour, version 4.2"))}</w:hdr>'
    numbers = xml.replace("Harbour, version 4.2", "Page 3 of 7")
    parts = [("header", f"header{one}.xml", xml.encode()) for one in (1, 2)]
    (page,) = read_all_pages(docx(p("Text"), *parts, ("footer", "footer1.xml", numbers.encode())), ".docx")
    assert page.text == "Text\n\nHeader: Harbour, version 4.2"


@pytest.mark.parametrize("path", [Path("tests/reading/files/three-pages.pdf")])
def test_a_file_of_which_all_is_read_has_nothing_left_out(path: Path) -> None:
    assert not any(page.left_out for page in read_all_pages(path.read_bytes(), ".pdf"))
