"""What Word documents, workbooks and presentations have beside their text: numbers, equations, comments and charts."""

import io
from typing import Any

import pytest
import xlsxwriter
from pptx import Presentation
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI

from shared.reading.readers import read_all_pages
from tests.hostile.office_files import CHART_DRAWING, chart, docx

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LEVELS = (("decimal", "%1."), ("decimal", "%1.%2"), ("lowerRoman", "(%3)"))
NUMBERING = (
    f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="7">'
    + "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for level, (kind, text) in enumerate(LEVELS)
    )
    + '</w:abstractNum><w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num></w:numbering>'
)
STYLES = (
    f"<w:styles {WORD}>"
    + "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/>'
        f'<w:basedOn w:val="H{level - 1}"/>'
        f'<w:pPr><w:numPr><w:ilvl w:val="{level - 1}"/>{"<w:numId w:val='3'/>" * (level == 1)}</w:numPr></w:pPr>'
        "</w:style>"
        for level in (1, 2, 3)
    )
    + "</w:styles>"
)


def heading(level: int, text: str, numbers: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="H{level}"/>{numbers}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_headings_of_a_word_document_have_their_numbers() -> None:
    body = (
        heading(1, "Leave") + heading(2, "Annual") + heading(3, "Days") + heading(3, "Hours") + heading(2, "Parental")
    )
    body += heading(1, "Foreword", '<w:numPr><w:numId w:val="0"/></w:numPr>') + heading(1, "Pay") + heading(3, "Bonus")
    parts = {"numbering": ("numbering", NUMBERING.encode()), "styles": ("styles", STYLES.encode())}
    (page,) = read_all_pages(docx(body, parts), ".docx")
    assert page.text.split("\n\n") == [
        *("# 1. Leave", "## 1.1 Annual", "### (i) Days", "### (ii) Hours", "## 1.2 Parental"),
        *("# Foreword", "# 2. Pay", "### (i) Bonus"),
    ]


def run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


EQUATIONS = {
    "(a+b)/2": f"<m:f><m:fPr/><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>",
    "x_i^12": f"<m:sSubSup><m:e>{run('x')}</m:e><m:sub>{run('i')}</m:sub><m:sup>{run('12')}</m:sup></m:sSubSup>",
    "3√(c)": f"<m:rad><m:deg>{run('3')}</m:deg><m:e>{run('c')}</m:e></m:rad>",
    "∑_(i=1)^n i": (
        "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>"
        f"<m:sub>{run('i=1')}</m:sub><m:sup>{run('n')}</m:sup><m:e>{run('i')}</m:e></m:nary>"
    ),
    "[1, 0; 0, 1]": (
        "<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e><m:m>"
        f"<m:mr><m:e>{run('1')}</m:e><m:e>{run('0')}</m:e></m:mr>"
        f"<m:mr><m:e>{run('0')}</m:e><m:e>{run('1')}</m:e></m:mr></m:m></m:e></m:d>"
    ),
}


@pytest.mark.parametrize("text", EQUATIONS)
def test_an_equation_of_a_word_document_is_text(text: str) -> None:
    body = f"<w:p><w:r><w:t>It is </w:t></w:r><m:oMathPara><m:oMath>{EQUATIONS[text]}</m:oMath></m:oMathPara></w:p>"
    (page,) = read_all_pages(docx(body), ".docx")
    assert page.text == f"It is {text}"


def series(name: str, *values: str) -> str:
    def points(texts: tuple[str, ...]) -> str:
        return "".join(f'<c:pt idx="{place}"><c:v>{text}</c:v></c:pt>' for place, text in enumerate(texts) if text)

    months = f"<c:formatCode>mmm yyyy</c:formatCode>{points(('46023', '46054'))}"
    return (
        f"<c:ser><c:tx><c:strRef><c:strCache>{points((name,))}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:numRef><c:numCache>{months}</c:numCache></c:numRef></c:cat>"
        f"<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode>{points(values)}</c:numCache></c:numRef>"
        "</c:val></c:ser>"
    )


def test_a_word_document_has_its_comments_and_the_values_of_its_charts() -> None:
    said = '<w:comment w:id="1" w:author="Anna"><w:p><w:r><w:t>Until when?</w:t></w:r></w:p></w:comment>'
    comments = f"<w:comments {WORD}>{said}</w:comments>"
    body = '<w:p><w:r><w:t>Ask first.</w:t></w:r><w:r><w:commentReference w:id="1"/></w:r></w:p>'
    parts = {
        "comments": ("comments", comments.encode()),
        "c1": ("chart", chart(series("Tea", "19.2", "21") + series("Mugs", "", "4"))),
    }
    (page,) = read_all_pages(docx(body + CHART_DRAWING.format("c1"), parts), ".docx")
    assert page.text == (
        "Ask first. (Comment, Anna: Until when?)\n\n"
        "|  | Tea | Mugs |\n| --- | --- | --- |\n| 2026-01-01 | 19.2 |  |\n| 2026-02-01 | 21 | 4 |"
    )


def test_a_workbook_has_its_comments_and_charts_also_on_sheets_of_their_own() -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet("Sales")
        for row, cells in enumerate((("Region", "2025"), ("East", 19.2), ("West", 21))):
            sheet.write_row(row, 0, cells)
        sheet.write_comment("B2", "Without Berlin")
        for place in (sheet, book.add_chartsheet("Chart")):
            made = book.add_chart({"type": "column"})
            made.set_title({"name": "By region"})
            made.add_series({"name": "=Sales!$B$1", "categories": "=Sales!$A$2:$A$3", "values": "=Sales!$B$2:$B$3"})
            place.insert_chart("D1", made) if place is sheet else place.set_chart(made)
    sales, alone = read_all_pages(file.getvalue(), ".xlsx")
    shown = "By region\n\n|  | 2025 |\n| --- | --- |\n| East | 19.2 |\n| West | 21 |"
    cells = "| Region | 2025 |\n| --- | --- |\n| East | 19.2 |\n| West | 21 |"
    assert sales.text == f"## Sales\n\n{cells}\n\n{shown}\n\nComment on B2: Without Berlin"
    assert alone.text == f"## Chart\n\n{shown}"


OLD = '<p:cmLst xmlns:p="p"><p:cm authorId="0"><p:pos x="1" y="1"/><p:text>Shorter?</p:text></p:cm></p:cmLst>'
NEW = (
    '<p188:cmLst xmlns:p188="p" xmlns:a="a"><p188:cm><p188:replyLst><p188:reply><p188:txBody><a:p><a:r>'
    "<a:t>Yes</a:t></a:r>"
    "</a:p></p188:txBody></p188:reply></p188:replyLst><p188:txBody><a:p><a:r><a:t>Shorter?</a:t></a:r></a:p>"
    "</p188:txBody>"
    "</p188:cm></p188:cmLst>"
)


@pytest.mark.parametrize(("xml", "said"), [(OLD, ["Shorter?"]), (NEW, ["Shorter?", "Yes"])], ids=["old", "new"])
def test_a_slide_has_the_comments_on_it(xml: str, said: list[str]) -> None:
    made: Any = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    part = Part(PackURI("/ppt/comments/comment1.xml"), "application/xml", made.part.package, xml.encode())
    slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments")
    file = io.BytesIO()
    made.save(file)
    (page,) = read_all_pages(file.getvalue(), ".pptx")
    assert page.text == "\n\n".join(f"Comment: {text}" for text in said)
