"""Office documents, books, e-mails and tables made to harm who reads them."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

from pptx import Presentation

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
    "line.csv": lambda: b"a,b\n" + b"word " * 10_000_000,
    "field.csv": lambda: b'a,b\n"' + b"word\n" * 10_000_000 + b'",1',
    "commas.csv": lambda: b"a,b\n" + b"," * 5_000_000,
    "links.rtf": links_rtf,
}
"""By name; the suffix is the format."""
