"""OpenDocument texts, workbooks and presentations become text, as LibreOffice writes them."""

import io
import zipfile

import pytest

from shared.reading import Page, UnreadableError
from shared.reading.readers import read_all_pages
from tests.hostile.office_files import odt, open_document, package

TEXT = (
    "<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes>"
    '<text:p text:style-name="Title">Rules</text:p>'
    "<text:table-of-content><text:p>1 Leave</text:p></text:table-of-content>"
    '<text:h text:outline-level="1">Leave</text:h>'
    '<text:h text:outline-level="2">Annual<text:s text:c="1"/>leave</text:h>'
    '<text:h text:outline-level="2">Parental</text:h>'
    "<text:p>Ask<text:span> the office</text:span>"
    "<office:annotation><dc:creator>Anna</dc:creator><text:p>Which?</text:p></office:annotation>"
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In Berlin</text:p></text:note-body>"
    "</text:note>: <draw:frame><draw:object xlink:href='./Object 1'/></draw:frame></text:p>"
    "<text:list><text:list-item><text:p>One</text:p><text:list><text:list-item><text:p>Deep</text:p></text:list-item>"
    "</text:list></text:list-item></text:list><text:list><text:list-item><text:p>Two</text:p>"
    "</text:list-item></text:list>"
    "<text:p>Sales<draw:frame><draw:object xlink:href='Object 2'/></draw:frame></text:p>"
)
STYLES = (
    '<style:styles xmlns:style="s" xmlns:text="t"><text:outline-level-style text:level="1" style:num-format="I"/>'
    '<text:outline-level-style text:level="2" style:num-format="1" style:num-suffix=")" text:display-levels="2"/>'
    "<master-styles><master-page><style:header><text:p>Harbour Office</text:p></style:header><style:footer>"
    "<text:p>Page "
    "<text:page-number>2</text:page-number></text:p></style:footer></master-page><master-page><style:header-left>"
    "<text:p>Harbour Office</text:p></style:header-left></master-page></master-styles></style:styles>"
)
MATH = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow>'
    "<msqrt><mi>b</mi></msqrt></mfrac><annotation>a over b</annotation></semantics></math>"
)
CHART = (
    '<d xmlns:office="o" xmlns:chart="c" xmlns:table="t" xmlns:text="x"><office:body><office:chart><chart:chart>'
    "<chart:title><text:p>By year</text:p></chart:title><table:table><table:table-header-rows><table:table-row>"
    "<table:table-cell/><table:table-cell><text:p>2025</text:p></table:table-cell></table:table-row>"
    "</table:table-header-rows><table:table-rows><table:table-row><table:table-cell><text:p>East</text:p>"
    "</table:table-cell><table:table-cell><text:p>19.2</text:p></table:table-cell></table:table-row>"
    "</table:table-rows>"
    "</table:table></chart:chart></office:chart></office:body></d>"
)


def test_a_cell_that_holds_a_list_of_one_is_its_text() -> None:
    cells = (
        "<table:table-cell><text:list><text:list-item><text:p>A</text:p></text:list-item></text:list></table:table-cell>"
        "<table:table-cell><text:p>B</text:p></table:table-cell>"
    )
    (page,) = read_all_pages(odt(f"<table:table><table:table-row>{cells}</table:table-row></table:table>"), ".odt")
    assert page.text == "| A | B |\n| --- | --- |"


def test_a_text_has_its_numbers_notes_comments_equations_and_charts() -> None:
    content = odt(TEXT)
    parts = {"styles.xml": STYLES, "Object 1/content.xml": MATH, "Object 2/content.xml": CHART}
    (page,) = read_all_pages(with_parts(content, parts), ".odt")
    assert page.text == (
        "# Rules\n\n# I Leave\n\n## I.1) Annual leave\n\n## I.2) Parental\n\n"
        "Ask the office (Comment, Anna: Which?)  (In Berlin): (a+1)/(√(b))\n\n- One\n  - Deep\n- Two\n\n"
        "Sales\n\nBy year\n\n|  | 2025 |\n| --- | --- |\n| East | 19.2 |\n\n"
        "Header: Harbour Office"
    )


def with_parts(data: bytes, parts: dict[str, str]) -> bytes:
    """The file with further parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = archive.read("content.xml")
    return package({"content.xml": content, **{name: text.encode() for name, text in parts.items()}})


HIDDEN = (
    '<office:automatic-styles><style:style style:name="off"><style:table-properties table:display="false"/>'
    "</style:style>"
    '<style:style style:name="gone"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    "</office:automatic-styles>"
)
SHEETS = (
    '<table:table table:name="Prices"><table:table-row><table:table-cell table:number-columns-spanned="3">'
    "<text:p>Price "
    "list</text:p></table:table-cell></table:table-row><table:table-row>"
    "<table:table-cell><text:p>Group</text:p></table:table-cell><table:table-cell><text:p>Price</text:p>"
    "</table:table-cell><table:table-cell><text:p>Since</text:p></table:table-cell></table:table-row>"
    "<table:table-row>"
    '<table:table-cell table:number-rows-spanned="2"><text:p>Tea</text:p></table:table-cell><table:table-cell>'
    "<office:annotation><text:p>Net</text:p></office:annotation><text:p>1.234,50 €</text:p></table:table-cell>"
    '<table:table-cell office:value-type="date" office:date-value="2026-03-05"><text:p>05.03.26</text:p>'
    "</table:table-cell>"
    '<table:table-cell table:number-columns-repeated="16381"/></table:table-row>'
    "<table:table-row><table:covered-table-cell/><table:table-cell><text:p>2 €</text:p></table:table-cell>"
    '</table:table-row><table:table-row table:number-rows-repeated="1048572">'
    '<table:table-cell table:number-columns-repeated="16384"/></table:table-row><table:shapes><draw:frame>'
    "<draw:text-box><text:p>From 2 March</text:p></draw:text-box></draw:frame></table:shapes></table:table>"
    '<table:table table:name="Pay" table:style-name="off"><table:table-row><table:table-cell><text:p>9</text:p>'
    "</table:table-cell></table:table-row></table:table>"
)


def test_a_workbook_has_a_page_for_each_sheet_as_it_is_shown() -> None:
    data = open_document(f"{HIDDEN}<office:body><office:spreadsheet>{SHEETS}</office:spreadsheet></office:body>")
    prices, hidden = read_all_pages(data, ".ods")
    assert prices.text == (
        "## Prices\n\nPrice list\n\n| Group | Price | Since |\n| --- | --- | --- |\n"
        "| Tea | 1.234,50 € (Comment: Net) | 2026-03-05 |\n| Tea | 2 € |  |\n\nFrom 2 March"
    )
    assert hidden == Page("", left_out=("hidden sheet Pay",))


SLIDES = (
    '<draw:page><draw:frame svg:y="9cm" presentation:class="outline"><draw:text-box><text:p>Below</text:p>'
    "</draw:text-box>"
    '</draw:frame><draw:custom-shape svg:y="2cm"><text:p>Above</text:p></draw:custom-shape>'
    '<draw:frame svg:y="1cm" presentation:class="title"><draw:text-box><text:p>Tea</text:p></draw:text-box>'
    "</draw:frame>"
    '<draw:frame svg:y="20cm" presentation:class="footer"><draw:text-box><text:p>Tea & Sons</text:p></draw:text-box>'
    "</draw:frame><office:annotation><text:p>Shorter?</text:p></office:annotation><presentation:notes>"
    '<draw:frame presentation:class="notes"><draw:text-box><text:p>Say hello.</text:p></draw:text-box></draw:frame>'
    "<draw:frame><draw:text-box><text:p>Beside them</text:p></draw:text-box></draw:frame>"
    '<draw:frame presentation:class="page-number"><draw:text-box><text:p>1</text:p></draw:text-box></draw:frame>'
    '</presentation:notes></draw:page><draw:page draw:style-name="gone"><draw:frame/></draw:page>'
).replace("&", "&amp;")


def test_a_presentation_has_a_page_for_each_slide_with_its_notes_and_comments() -> None:
    data = open_document(f"{HIDDEN}<office:body><office:presentation>{SLIDES}</office:presentation></office:body>")
    assert read_all_pages(data, ".odp") == [
        Page("# Tea\n\nComment: Shorter?\n\nAbove\n\nBelow\n\nNotes: Say hello.\nBeside them", 1),
        Page("", 2, left_out=("hidden slides",)),
    ]


def test_a_protected_file_says_so() -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    with pytest.raises(UnreadableError, match="password"):
        read_all_pages(with_parts(odt(""), {"META-INF/manifest.xml": manifest}), ".odt")
