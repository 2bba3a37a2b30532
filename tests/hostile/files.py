"""Files made to harm who reads them: small, and dear to read."""

from collections.abc import Sequence

from tests.hostile.office_files import LAUGHS, OFFICE_FILES, package


def pdf(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first is its catalogue."""
    body = b"%PDF-1.4\n"
    places: list[int] = []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object, such as the drawing of a page."""
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), entries, content)


def form(drawing: bytes, drawn: int | None) -> bytes:
    """A form XObject; `/X` in its drawing is the object with this number."""
    resources = b"/Resources<</XObject<</X %d 0 R>>>>" % drawn if drawn else b""
    return stream(drawing, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]" + resources)


def pdf_drawing(forms: Sequence[bytes]) -> bytes:
    """A PDF with one page that draws the first of these forms, which is object 5."""
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</XObject<</X 5 0 R>>>>/Contents 4 0 R>>"
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            page,
            stream(b"/X Do"),
            *forms,
        ]
    )


def self_drawing_pdf() -> bytes:
    """A form that draws itself twice: 2^n drawings, without an end."""
    return pdf_drawing([form(b"/X Do /X Do", 5)])


def nested_pdf(levels: int, times: int) -> bytes:
    """Forms that each draw the next so many times."""
    drawing = b"/X Do " * times
    return pdf_drawing(
        [form(drawing, 6 + level) if level < levels - 1 else form(b"0 0 1 1 re f", None) for level in range(levels)]
    )


def many_pages_pdf(pages: int, words: int) -> bytes:
    """So many pages that all show the same words, so many."""
    shown = b"BT /F 1 Tf " + b"(word ) Tj " * words + b"ET"
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</Font<</F 4 0 R>>>>/Contents 3 0 R>>"
    kids = b" ".join(b"%d 0 R" % (5 + number) for number in range(pages))
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages),
            stream(shown),
            font,
            *([page] * pages),
        ]
    )


def tiles_pdf() -> bytes:
    """A page whose words are read at once, and whose pattern takes hours to paint: 4 million tiles over one another."""
    resources = b"/Resources<</Font<</F 5 0 R>>/Pattern<</P 6 0 R>>>>"
    tiling = b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 100 100]/XStep .1/YStep .1/Resources<<>>"
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]" + resources + b"/Contents 4 0 R>>",
            stream(b"BT /F 12 Tf 20 100 Td (Two words) Tj ET /Pattern cs /P scn 0 0 200 200 re f"),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            stream(b"0 0 .1 .1 re f", tiling),
        ]
    )


def breaks_html() -> bytes:
    """Half a million line breaks."""
    return b"<html><body>" + b"<br>" * 500_000 + b"end</body></html>"


def deep_html() -> bytes:
    """Tags in one another, 100,000 deep."""
    return b"<html><body>" + b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000


def nested_lists_html() -> bytes:
    """A page of 2 MB whose text is in 200 lists in one another: each indents all lines again."""
    return b"<html><body>" + b"<ul><li>" * 200 + b"word word word<br>" * 110_000


def zip_bomb_docx() -> bytes:
    """A Word document of some 200 kB that unpacks to 200 MB."""
    document = b"<w:document>" + b" " * 200_000_000
    return package({"[Content_Types].xml": b"<Types/>", "word/document.xml": document})


def many_parts_docx() -> bytes:
    """A Word document of 40,000 parts, each empty."""
    return package({f"word/media/{number}.png": b"" for number in range(40_000)})


def entity_docx() -> bytes:
    """A Word document whose XML is a billion laughs."""
    xml = f"{LAUGHS}<w:document><w:body>&e9;</w:body></w:document>"
    return package({"[Content_Types].xml": b"<Types/>", "word/document.xml": xml.encode()})


ENDS = {
    "commas.csv": "holds more than",
    "laughs.docx": "is damaged",
    "links.rtf": "takes too long",
    "self-drawing.pdf": "takes too much memory",
}
"""A hostile file for each way in which reading can end, and what its error says: all that most tests need."""
ENDLESS = {"links.rtf", "nested-lists.html", "pages-300.pdf"}
"""Those that only the limit of time ends."""
HOSTILE_FILES = {
    "self-drawing.pdf": self_drawing_pdf,
    "nested-12x10.pdf": lambda: nested_pdf(12, 10),
    "nested-8x8.pdf": lambda: nested_pdf(8, 8),
    "pages-2000.pdf": lambda: many_pages_pdf(2_000, words=2_000),
    "pages-300.pdf": lambda: many_pages_pdf(300, words=2_000),
    "breaks.html": breaks_html,
    "deep.html": deep_html,
    "nested-lists.html": nested_lists_html,
    "bomb.docx": zip_bomb_docx,
    "laughs.docx": entity_docx,
    "parts.docx": many_parts_docx,
    **OFFICE_FILES,
}
"""By name; the suffix is the format."""
