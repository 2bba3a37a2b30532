"""Office documents, books, e-mails and tables made to harm who reads them."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

from pptx import Presentation

from tests.hostile.outlook_files import nested_msg, shared_streams_msg

_SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ENTITIES = "".join(f"<!ENTITY e{level} '{f'&e{level - 1};' * 10}'>" for level in range(1, 10))
LAUGHS = f"<!DOCTYPE d [<!ENTITY e0 'laugh'>{_ENTITIES}]>"
"""Entities of which `&e9;` is a billion laughs."""


def package(parts: Mapping[str, bytes]) -> bytes:
    """A ZIP file of these parts, by name."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def xlsx(sheet: bytes, *, before: str = "", strings: bytes = b"") -> bytes:
    """A workbook of one sheet: the content of its `worksheet` element, and of the shared strings."""
    sheets = '<sheets><sheet name="Sheet" sheetId="1" r:id="r1"/></sheets>'
    targets = (("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml"))
    relations = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{target}"/>' for name, kind, target in targets
    )
    office = f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>'.encode(),
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{office}</Relationships>'.encode(),
            "xl/_rels/workbook.xml.rels": (
                f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>'.encode()
            ),
            "xl/workbook.xml": (
                f'<workbook xmlns="{_SPREADSHEET}" xmlns:r="{_RELATIONS}">{sheets}</workbook>'.encode()
            ),
            "xl/sharedStrings.xml": b'<sst xmlns="%s">%s</sst>' % (_SPREADSHEET.encode(), strings),
            "xl/worksheets/sheet1.xml": (
                b'%s<worksheet xmlns="%s">%s</worksheet>' % (before.encode(), _SPREADSHEET.encode(), sheet)
            ),
        }
    )


def cells(content: bytes) -> bytes:
    """The cells of a sheet."""
    return b"<sheetData>%s</sheetData>" % content


def far_cells_xlsx() -> bytes:
    """Two cells, in the corners of the largest sheet: between them are 17 billion empty ones."""
    row = b'<row r="%d"><c r="%s%d"><v>1</v></c></row>'
    return xlsx(cells(row % (1, b"A", 1) + row % (1_048_576, b"XFD", 1_048_576)))


def strings_xlsx() -> bytes:
    """A string of a megabyte, which 100,000 cells show."""
    rows = b"<row>%s</row>" % (b'<c t="s"><v>0</v></c>' * 10)
    return xlsx(cells(rows * 10_000), strings=b"<si><t>%s</t></si>" % (b"word " * 200_000))


def merged_xlsx() -> bytes:
    """5,000 merged areas, each of which covers nearly all of 100,000 cells."""
    rows = b"".join(b"<row>%s</row>" % (b"<c><v>1</v></c>" * 100) for _ in range(1_000))
    return xlsx(cells(rows) + b"<mergeCells>%s</mergeCells>" % (b'<mergeCell ref="A1:CT1000"/>' * 5_000))


def pptx(slide: bytes, *, before: str = "") -> bytes:
    """A presentation of one slide: the content of its tree of shapes."""
    file = BytesIO()
    presentation = Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[6])
    presentation.save(file)
    with zipfile.ZipFile(file) as made:
        parts = {name: made.read(name) for name in made.namelist()}
    name = "ppt/slides/slide1.xml"
    xml = parts[name].partition(b"?>")[2].replace(b"</p:spTree>", slide + b"</p:spTree>")
    return package({**parts, name: before.encode() + xml})


def text_box(text: str) -> bytes:
    """A shape of a slide."""
    about = '<p:nvSpPr><p:cNvPr id="9" name="a"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    return f"<p:sp>{about}<p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>".encode()


def nested_groups_pptx() -> bytes:
    """Groups in one another, 10,000 deep."""
    return pptx(b"<p:grpSp>" * 10_000 + text_box("deep") + b"</p:grpSp>" * 10_000)


def epub(chapters: Mapping[str, bytes], *, before: str = "", spine: str = "") -> bytes:
    """A book of these chapters, by name, and with these references besides."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    references = "".join(f'<itemref idref="{name}"/>' for name in chapters) + spine
    root = '<container><rootfiles><rootfile full-path="book/book.opf"/></rootfiles></container>'
    book = f"{before}<package><manifest>{items}</manifest><spine>{references}</spine></package>"
    named = {f"book/{name}": content for name, content in chapters.items()}
    return package({"META-INF/container.xml": root.encode(), "book/book.opf": book.encode(), **named})


def open_document(body: str, *, before: str = "") -> bytes:
    """An OpenDocument file: the content of its body, and what stands before it."""
    names = ("office", "text", "table", "draw", "presentation", "style")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    more = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg:1.0"'
    dublin = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    content = f"<office:document-content {spaces} {more} {dublin}>{body}</office:document-content>"
    return package({"content.xml": f"{before}{content}".encode()})


def odt(text: str, *, before: str = "") -> bytes:
    """An OpenDocument text."""
    return open_document(f"<office:body><office:text>{text}</office:text></office:body>", before=before)


def repeated_ods() -> bytes:
    """A sheet with one cell, which is there a million times in each of a million rows."""
    cell = '<table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row>'
    sheet = f'<table:table table:name="a">{row}</table:table>'
    return open_document(f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>")


def spanned_ods() -> bytes:
    """A sheet of 2,000 cells in a row, each merged of a million rows and columns."""
    cell = (
        '<table:table-cell table:number-rows-spanned="1000000" table:number-columns-spanned="1999"><text:p>x</text:p>'
    )
    rows = f"<table:table-row>{f'{cell}</table:table-cell>' * 2_000}</table:table-row>"
    sheet = f'<table:table table:name="a">{rows}</table:table>'
    return open_document(f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>")


def docx(body: str, parts: Mapping[str, tuple[str, bytes]] | None = None) -> bytes:
    """A Word document: the content of its body, and for each part that it names its type and content."""
    more = parts or {}
    named = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{name}.xml"/>'
        for name, (kind, _) in more.items()
    )
    office = f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/>'
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    begins = f'<w:document xmlns:w="{word}" xmlns:m="{math}" xmlns:r="{_RELATIONS}"><w:body>'
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>'.encode(),
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{office}</Relationships>'.encode(),
            "word/_rels/document.xml.rels": (
                f'<Relationships xmlns="{_PACKAGE}/relationships">{named}</Relationships>'.encode()
            ),
            "word/document.xml": f"{begins}{body}</w:body></w:document>".encode(),
            **{f"word/{name}.xml": content for name, (_, content) in more.items()},
        }
    )


CHART_DRAWING = (
    '<w:p><w:r><w:drawing><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="{}"/>'
    "</w:drawing></w:r></w:p>"
)
"""A paragraph with a chart."""


def chart(content: str) -> bytes:
    """A chart: the content of its only plot."""
    space = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    plot = f"<c:plotArea><c:barChart>{content}</c:barChart></c:plotArea>"
    return f"<c:chartSpace {space}><c:chart>{plot}</c:chart></c:chartSpace>".encode()


def values_docx() -> bytes:
    """A chart of 3,000 series, each with one value in a row of its own: nine million cells."""
    begins, ends = "<c:ser><c:val><c:numRef><c:numCache>", "</c:numCache></c:numRef></c:val></c:ser>"
    series = "".join(f'{begins}<c:pt idx="{place}"><c:v>1</c:v></c:pt>{ends}' for place in range(3_000))
    return docx(CHART_DRAWING.format("c1"), {"c1": ("chart", chart(series))})


def nested_equation_docx() -> bytes:
    """Fractions in one another, 20,000 deep."""
    inner = "<m:f><m:num>" * 20_000 + "</m:num></m:f>" * 20_000
    return docx(f"<w:p><m:oMath>{inner}</m:oMath></w:p>")


def nested_eml(levels: int) -> bytes:
    """E-mails attached to one another."""
    header = b"From: a@example.com\nSubject: level %d\nContent-Type: message/rfc822\n\n"
    return b"".join(header % level for level in range(levels)) + b"From: a@example.com\n\nDeep."


def nested_parts_eml() -> bytes:
    """Parts in one another, 1,000 deep."""
    parts = (b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (level, level) for level in range(1_000))
    return b"From: a@example.com\n" + b"".join(parts) + b"\nDeep."


def endless_eml() -> bytes:
    """Half a million parts, and no end."""
    return b'From: a@example.com\nContent-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nx\n" * 500_000


def links_rtf() -> bytes:
    """Links that begin and do not end."""
    return rb"{\rtf1 text" + rb"{\field{\*\fldinst{ HYPERLINK " * 100_000


OFFICE_FILES = {
    "far-cells.xlsx": far_cells_xlsx,
    "many-cells.xlsx": lambda: xlsx(cells(b"<row>%s</row>" % (b"<c><v>1</v></c>" * 1_000) * 3_000)),
    "strings.xlsx": strings_xlsx,
    "merged.xlsx": merged_xlsx,
    "bomb.xlsx": lambda: xlsx(b" " * 200_000_000),
    "laughs.xlsx": lambda: xlsx(cells(b'<row><c t="str"><v>&e9;</v></c></row>'), before=LAUGHS),
    "bomb.odt": lambda: odt(" " * 200_000_000),
    "laughs.odt": lambda: odt("<text:p>&e9;</text:p>", before=LAUGHS),
    "nested-lists.odt": lambda: odt("<text:list><text:list-item>" * 10_000 + "</text:list-item></text:list>" * 10_000),
    "repeated.ods": repeated_ods,
    "spanned.ods": spanned_ods,
    "values.docx": values_docx,
    "nested-equation.docx": nested_equation_docx,
    "bomb.pptx": lambda: pptx(b" " * 200_000_000),
    "laughs.pptx": lambda: pptx(text_box("&e9;"), before=LAUGHS),
    "tags.pptx": lambda: pptx(b"<a/>" * 1_100_000),
    "nested-groups.pptx": nested_groups_pptx,
    "bomb.epub": lambda: epub({f"{number}.html": b"<p>" + b" " * 2_000_000 for number in range(10)}),
    "laughs.epub": lambda: epub({"1.html": b"<p>text"}, before=LAUGHS, spine="&e9;"),
    "chapters.epub": lambda: epub({f"{number}.html": b"<p>text" for number in range(2_100)}),
    "nested-mails.eml": lambda: nested_eml(1_000),
    "nested-parts.eml": nested_parts_eml,
    "endless.eml": endless_eml,
    "shared.msg": shared_streams_msg,
    "nested.msg": lambda: nested_msg(300),
    "line.csv": lambda: b"a,b\n" + b"word " * 10_000_000,
    "field.csv": lambda: b'a,b\n"' + b"word\n" * 10_000_000 + b'",1',
    "commas.csv": lambda: b"a,b\n" + b"," * 5_000_000,
    "links.rtf": links_rtf,
}
"""By name; the suffix is the format."""
