"""Each cell of a PDF's tables is told from the others, at any size, with lines or without."""

import ctypes
from copy import replace
from io import BytesIO

import pytest
from pypdfium2 import PdfDocument, raw
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageTemplate

from shared.reading.pdf_rules import Rule, grids, merged
from shared.reading.pdf_tables import find_tables
from shared.reading.pdf_words import Table, Word
from tests.reading.pdf_tables import BIRDS, GRID, TEXT, UNDER_HEAD, Rows, Style, pdf, table, text, wrapped
from tests.reading.sources import read_pages

SIZES = (8, 10, 12)
RIGHT = ("ALIGN", (1, 0), (-1, -1), "RIGHT")
CENTRED = ("ALIGN", (0, 0), (-1, -1), "CENTER")
STRIPES = [("BACKGROUND", (0, row), (-1, row), colors.lightgrey) for row in range(0, 5, 2)]
REMARKS: Rows = (
    ("Bird", "Remarks", "Fee"),
    ("Bussard", "lives in the reeds by the lower lake and is seen best at dawn", "6.75 EUR"),
    ("Kranich", "nests in the quarry, so that the path is closed in spring", "8.20 EUR"),
    ("Uhu", "is heard rather than seen, most often in the old beech wood", "4.10 EUR"),
)


def markdown(rows: Rows) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def read(data: bytes) -> str:
    return "\n\n".join(page.text for page in read_pages(data, ".pdf"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "style",
    [[GRID], [UNDER_HEAD], [], STRIPES, [RIGHT], [GRID, RIGHT], [CENTRED]],
    ids=["ruled", "line under head", "no lines", "shaded", "right-aligned", "ruled and right-aligned", "centred"],
)
def test_the_cells_of_a_table_are_parted_and_the_text_around_it_stays_whole(size: int, style: Style) -> None:
    assert read(pdf(text(size), table(BIRDS, style, size), text(size))) == f"{TEXT}\n\n{markdown(BIRDS)}\n\n{TEXT}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("style", [[GRID], []], ids=["ruled", "no lines"])
def test_an_empty_cell_stays_in_its_column(size: int, style: Style) -> None:
    rows = [list(row) for row in BIRDS]
    rows[1][2] = rows[2][1] = rows[3][3] = ""
    assert markdown(rows) in read(pdf(text(size), table(rows, style, size)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "style",
    [
        [GRID, ("VALIGN", (0, 0), (-1, -1), "TOP")],
        [GRID, ("VALIGN", (0, 0), (-1, -1), "MIDDLE")],
        [("VALIGN", (0, 0), (-1, -1), "TOP"), ("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.black)],
        [("VALIGN", (0, 0), (-1, -1), "TOP")],
    ],
    ids=["ruled", "ruled, in the middle", "lines between rows", "no lines"],
)
def test_the_lines_of_a_cell_are_joined(size: int, style: Style) -> None:
    columns = [size * 8, size * 16, size * 7]
    made = pdf(text(size), table(wrapped(REMARKS, size), style, size, colWidths=columns), text(size))
    assert read(made) == f"{TEXT}\n\n{markdown(REMARKS)}\n\n{TEXT}"


def test_a_merged_cell_stands_in_each_of_its_rows_and_a_head_of_two_rows_becomes_one() -> None:
    rows = [
        ("Region", "Price", "", "Day"),
        ("", "Adults", "Children", ""),
        ("North", "6.75", "3.50", "Tuesday"),
        ("", "8.20", "4.50", "Friday"),
        ("South", "4.10", "2.50", "Sunday"),
    ]
    spans = [((0, 0), (0, 1)), ((1, 0), (2, 0)), ((3, 0), (3, 1)), ((0, 2), (0, 3))]
    assert markdown(
        [
            ("Region", "Price Adults", "Price Children", "Day"),
            ("North", "6.75", "3.50", "Tuesday"),
            ("North", "8.20", "4.50", "Friday"),
            ("South", "4.10", "2.50", "Sunday"),
        ]
    ) in read(pdf(text(10), table(rows, [GRID, *(("SPAN", *span) for span in spans)])))


def test_the_rest_of_a_table_on_the_next_page_has_its_head() -> None:
    rows = [BIRDS[0], *((f"Bird {number}", "Avis", f"{number}.50 EUR", "Monday") for number in range(60))]
    first, second = read_pages(pdf(table(rows, [GRID])), ".pdf")
    head = "| Bird | Latin name | Fee | Day |\n| --- | --- | --- | --- |\n"
    assert first.text.startswith(head + "| Bird 0 |")
    assert second.text.startswith(head + "| Bird ")
    repeated = [page.text for page in read_pages(pdf(table(rows, [GRID], repeatRows=1)), ".pdf")]
    assert [page.count("Latin name") for page in repeated] == [1, 1]


YEARS = "|  | Year ended December 31, 2022 | Year ended December 31, 2021 |\n| --- | --- | --- |\n"


@pytest.mark.parametrize("label", ["Revenue", "Revenue (a)"])
def test_years_above_figures_are_the_head_of_each_part_of_their_table(label: str) -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 10)
    canvas.drawCentredString(375, 725, "Year ended December 31,")
    canvas.drawRightString(350, 710, "2022")
    canvas.drawRightString(450, 710, "2021")
    canvas.drawString(60, 690, "Revenue")
    canvas.drawString(105, 694, label[8:])
    first = "" if label[8:] else "Products of our own"
    for top, rows in (
        (
            690 if label[8:] else 675,
            ((first, "$", "1,250"), ("Services to others", "", "(75)"), ("Licences and rights", "", "8")),
        ),
        (560, (("Staff", "$", "640"), ("Rent of premises", "", "90"), ("Other", "", "1,100"))),
    ):
        if top == 560:
            canvas.drawString(60, 600, "Costs")
        for row, (name, sign, figure) in enumerate(rows):
            canvas.drawString(60, top - 15 * row, name)
            for right in (350, 450):
                canvas.drawString(right - 70, top - 15 * row, sign)
                canvas.drawRightString(right, top - 15 * row, figure)
    canvas.save()
    begins = (
        f"| {label} | $ 1,250 | $ 1,250 |"
        if label[8:]
        else "| Revenue |  |  |\n| Products of our own | $ 1,250 | $ 1,250 |"
    )
    assert read(file.getvalue()) == (
        f"{YEARS}{begins}\n| Services to others | (75) | (75) |\n| Licences and rights | 8 | 8 |\n\nCosts\n\n"
        f"{YEARS}| Staff | $ 640 | $ 640 |\n| Rent of premises | 90 | 90 |\n| Other | 1,100 | 1,100 |"
    )


def test_a_figure_whose_cell_goes_on_over_the_column_of_its_sign_is_there_once() -> None:
    rows = [["", "2022", "", "", "2021"], ["Tea", "$", "1,250", "$", "980"], ["Mugs", "75", "", "68", ""]]
    spans = [("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0)), ("SPAN", (1, 2), (2, 2)), ("SPAN", (3, 2), (4, 2))]
    rows[0][3], rows[0][4] = "2021", ""
    assert read(pdf(table(rows, [GRID, *spans]))) == markdown(
        (("", "2022", "2021"), ("Tea", "$ 1,250", "$ 980"), ("Mugs", "75", "68"))
    )


@pytest.mark.parametrize(
    ("first", "is_head"),
    [(("Age", "1", "2"), True), (("Tea", "12.50", "8.00"), False), (("EUR", "31.12.2025", "31.12.2024"), True)],
)
def test_a_row_of_figures_is_no_head(first: tuple[str, str, str], is_head: bool) -> None:
    assert (
        "| --- |" in read(pdf(table([first, ("Mugs", "9.50", "7.00"), ("Pots", "20.00", "31.00")], [GRID])))
    ) == is_head


def test_a_table_beside_text_is_told_from_it() -> None:
    file = BytesIO()
    document = BaseDocTemplate(file, pagesize=A4)
    document.addPageTemplates(PageTemplate(frames=[Frame(40, 40, 200, 760), Frame(260, 40, 310, 760)]))
    document.build([text(10), text(10), FrameBreak(), table(BIRDS, [GRID])])
    found = read(file.getvalue())
    assert markdown(BIRDS) in found
    assert found.count(TEXT) == 2


@pytest.mark.parametrize("turn", [90, 270])
def test_a_turned_page_is_read_as_it_is_shown(turn: int) -> None:
    wide, high = landscape(A4)
    document = PdfDocument(pdf(text(10), table(BIRDS, [GRID]), pagesize=(wide, high)))
    page = document[0]
    matrix = raw.FS_MATRIX(0, 1, -1, 0, high, 0) if turn == 90 else raw.FS_MATRIX(0, -1, 1, 0, 0, wide)
    raw.FPDFPage_TransFormWithClip(page, matrix, ctypes.byref(raw.FS_RECTF(0, wide, wide, 0)))
    page.set_mediabox(0, 0, high, wide)
    page.set_rotation(turn)
    page.gen_content()
    file = BytesIO()
    document.save(file)
    assert read(file.getvalue()) == f"{TEXT}\n\n{markdown(BIRDS)}"


def test_words_from_right_to_left_keep_the_order_of_the_file() -> None:
    def cell(texts: str, row: int, left: float) -> list[Word]:
        words = reversed([*enumerate(texts.split()[::-1])])
        return [Word(text, left + 30 * at, left + 30 * at + 25, -20.0 * row - 10, -20.0 * row) for at, text in words]

    lines = [cell(text, row, left) for row in range(3) for text, left in (("בז אדום", 200), ("יום שני", 100))]
    (found,) = find_tables(lines, [], [])
    assert isinstance(found, Table)
    assert found.rows == (("יום שני", "בז אדום"),) * 3


def test_a_list_is_no_table() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    for row in range(5):
        canvas.drawString(60, 700 - 15 * row, f"{row + 1}.")
        canvas.drawString(85, 700 - 15 * row, f"Bring a lamp for the way number {row + 1}.")
    canvas.save()
    assert "|" not in read(file.getvalue())


def test_a_list_with_a_last_line_of_one_short_word_is_no_table() -> None:
    item = Word("Leave-nothing-behind", 126, 500, 0, 11)
    lines = [
        [replace(word, bottom=bottom, top=bottom + 11.0) for word in words]
        for bottom, words in (
            (354.0, (Word("•", 90, 95, 0, 0), item)),
            (330.0, (Word("•", 90, 95, 0, 0), item)),
            (315.0, (Word("date.", 90, 113, 0, 0),)),
            (290.0, (Word("•", 90, 95, 0, 0), item)),
        )
    ]
    assert find_tables(lines, [], []) == lines


def test_a_drawing_of_many_lines_is_no_table_and_its_text_is_read() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    for place in range(600):
        canvas.line(place, 0, place, 600)
        canvas.line(0, place, 600, place)
    canvas.drawString(100, 300, "A map of the marsh")
    canvas.save()
    assert read(file.getvalue()) == "A map of the marsh"


@pytest.mark.parametrize(("between", "is_table"), [((1, 1), True), ((2, 2), False)])
def test_rows_of_one_cell_are_at_most_half_of_a_table_without_lines(between: tuple[int, int], is_table: bool) -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    rows = [
        ("Bussard", "6.75"),
        *[("Reeds",)] * between[0],
        ("Kranich", "8.20"),
        *[("Lake",)] * between[1],
        ("Uhu", "4.10"),
    ]
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            canvas.drawString(100 + 200 * column, 700 - 20 * place, cell)
    canvas.save()
    assert ("| Reeds |  |" in read(file.getvalue())) == is_table


def test_pieces_of_a_line_are_one_and_a_grid_needs_two_rows_and_columns() -> None:
    dashes = [Rule(10.0 * row, start, start + 8.0) for row in range(3) for start in range(0, 100, 10)]
    across = merged(dashes)
    assert [(rule.at, rule.start, rule.end) for rule in across] == [(0, 0, 98), (10, 0, 98), (20, 0, 98)]
    assert grids(across, [Rule(0, 0, 20), Rule(98, 0, 20)]) == []
    (grid,) = grids(across, [Rule(0, 0, 20), Rule(50, 0, 10), Rule(98, 0, 20)])
    assert grid.columns == (0, 50, 98)
    assert len({*grid.cells[0]}) == 1  # no line parts the upper row
    assert len({*grid.cells[1]}) == 2


def test_rows_between_two_lines_are_rows_if_a_column_has_a_figure_in_each() -> None:
    rows = [("State", "Permits", "Guns")]
    for number in range(4):
        names = ["Alba", "Bora", "Cora"]
        rows.append(("\n".join(f"{name} {number}" for name in names), "18,870\n209\n2,303", f"{number}\n12\n7"))
    found = read(pdf(table(rows, [GRID], 10)))
    assert "| Bora 2 | 209 | 12 |" in found
    assert found.count("\n") == 1 + 4 * 3


def written(y: float, *texts: tuple[float, str]) -> list[Word]:
    """A line of words at a height, in letters of 5 by 10 points, with spaces of 3."""
    words: list[Word] = []
    for place, cell in texts:
        left = place
        for word in cell.split():
            words.append(Word(word, left, left + 5.0 * len(word), y, y + 10.0))
            left += 5.0 * len(word) + 3.0
    return words


def frame(
    left: float, right: float, rows: tuple[float, ...], columns: tuple[float, ...]
) -> tuple[list[Rule], list[Rule]]:
    """Lines across at these heights, and lines down at these places."""
    return [Rule(y, left, right) for y in rows], [Rule(x, min(rows), max(rows)) for x in columns]


def rows_in(lines: list[list[Word]], across: list[Rule], down: list[Rule]) -> list[tuple[str, ...]]:
    return [row for found in find_tables(lines, across, down) if isinstance(found, Table) for row in found.rows]


def test_rows_between_two_ruling_lines_are_told_by_ranges_and_dates_and_a_heading_keeps_its_own() -> None:
    lines = [
        written(180, (10, "Place"), (110, "Price"), (210, "Seen")),
        written(160, (10, "Ponds")),
        *(
            written(y, (10, name), (110, price), (210, seen))
            for y, name, price, seen in (
                (145, "Reeds", "1.35 - 1.42", "04/03/2019"),
                (130, "Lake", "unq", "05/24/2019"),
                (115, "Mill", "1.27 - 1.35", "05/28/2019"),
            )
        ),
        written(90, (10, "Woods and")),
        written(75, (10, "quarries"), (110, "2.85"), (210, "05/30/2019")),
        written(60, (10, "Beech"), (110, "3.05"), (210, "06/04/2019")),
    ]
    assert rows_in(lines, *frame(5, 300, (195, 175, 108, 50), (5, 105, 205, 300))) == [
        ("Place", "Price", "Seen"),
        ("Ponds", "", ""),
        ("Reeds", "1.35 - 1.42", "04/03/2019"),
        ("Lake", "unq", "05/24/2019"),
        ("Mill", "1.27 - 1.35", "05/28/2019"),
        ("Woods and quarries", "2.85", "05/30/2019"),
        ("Beech", "3.05", "06/04/2019"),
    ]


def test_rows_of_long_text_begin_where_labels_do_that_have_white_space_below() -> None:
    lines = [
        written(180, (10, "Bird"), (110, "Remarks"), (310, "Where")),
        written(160, (10, "Bussard"), (110, "lives in the reeds by the lower"), (310, "lower lake, and at the")),
        written(148, (110, "lake and is seen best at dawn"), (310, "gate to the quarry")),
        written(136, (10, "Kranich"), (110, "nests in the quarry, so that the"), (310, "quarry, and at the mill")),
        written(124, (110, "path is closed in spring"), (310, "by the upper pond")),
    ]
    assert rows_in(lines, *frame(5, 460, (195, 175, 120), (5, 105, 305, 460)))[1:] == [
        (
            "Bussard",
            "lives in the reeds by the lower lake and is seen best at dawn",
            "lower lake, and at the gate to the quarry",
        ),
        (
            "Kranich",
            "nests in the quarry, so that the path is closed in spring",
            "quarry, and at the mill by the upper pond",
        ),
    ]


def test_a_frame_around_rows_is_parted_by_the_columns_of_its_head_and_a_long_line_stays_in_its_column() -> None:
    head = [written(200, (10, "No."), (110, "Description"), (310, "Amount"))]
    body = [
        line
        for row in range(4)
        for line in (
            written(170 - 36 * row, (10, f"D{row}"), (110, "TRAVEL"), (310, f"{row}20.68")),
            written(158 - 36 * row, (110, "AIRFARE FOR THE WAY TO THE LAKE AND TO THE OLD MILL")),
        )
    ]
    across, down = frame(5, 400, (215, 190), (5, 105, 305, 400))
    outer, sides = frame(5, 400, (190, 40), (5, 400))
    assert rows_in([*head, *body], [*across, *outer], [*down, *sides])[1:] == [
        (f"D{row}", "TRAVEL AIRFARE FOR THE WAY TO THE LAKE AND TO THE OLD MILL", f"{row}20.68") for row in range(4)
    ]


def test_a_head_that_lines_down_part_stands_above_all_of_its_columns() -> None:
    names = [(10 + 50 * place, name) for place, name in enumerate(("State", *("Hand", "Long", "Any") * 2))]
    lines = [
        written(160, (30, "Checks of November")),
        written(140, (110, "Pawn"), (260, "Sale")),
        written(125, *names),
        *(written(105 - 15 * row, *((left, f"{row}{left:.0f}") for left, _ in names)) for row in range(3)),
    ]
    across = [Rule(y, 5, 355) for y in (175, 155, 120, 65)]
    tops = (175, 155, 137, 137, 155, 137, 137, 175)
    rows = rows_in(lines, across, [Rule(5 + 50 * place, 65, top) for place, top in enumerate(tops)])
    assert rows[1] == ("State", "Pawn Hand", "Pawn Long", "Pawn Any", "Sale Hand", "Sale Long", "Sale Any")


def test_digits_of_a_smaller_font_in_a_number_are_not_raised() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 12)
    canvas.drawString(60, 700, "DHAW")
    width = canvas.stringWidth("DHAW")
    canvas.setFont("Helvetica", 8)
    canvas.drawString(60 + width, 703, "20190001")
    canvas.save()
    assert read(file.getvalue()) == "DHAW20190001"


def test_figures_beside_each_other_are_of_two_columns_and_heads_stand_above_each() -> None:
    lines = [
        written(200, (10, "Volume 24"), (120, "Report of the Week"), (300, "South")),
        written(180, (140, "Week to Date"), (290, "Long Ago")),
        written(165, (110, "2017"), (150, "2016"), (184, "% Chg"), (262, "2017"), (300, "2016"), (334, "% Chg")),
        *(
            written(
                150 - 15 * row,
                (10, name),
                (115, "16"),
                (155, "1,270"),
                (183, "-10.79"),
                (267, "85"),
                (305, "1,100"),
                (333, "-15.0"),
            )
            for row, name in enumerate(("Robbery", "Assault", "Burglary", "Larceny", "Fraud", "Arson"))
        ),
    ]
    head, first, *_ = rows_in(lines, [], [])
    assert first == ("Robbery", "16", "1,270", "-10.79", "85", "1,100", "-15.0")
    groups = ("Week to Date", "Long Ago")
    named = [f"{group} {name}" for group in groups for name in ("2017", "2016", "% Chg")]
    assert all(cell.endswith(name) for cell, name in zip(head[1:], named, strict=True))


def test_a_head_in_the_middle_above_several_columns_that_no_line_parts_names_each_of_them() -> None:
    names = [(10 + 60 * place, name) for place, name in enumerate(("Region", "Unit", "Fixed", "Day", "Night", "Fixed"))]
    lines = [
        written(160, (85, "Standard"), (240, "Economy")),
        written(140, *names),
        *(written(120 - 20 * row, *((left, f"{row}.{left:.0f}") for left, _ in names)) for row in range(3)),
    ]
    across, down = frame(5, 365, (135, 115, 95, 75), tuple(5.0 + 60 * place for place in range(7)))
    head = rows_in(
        lines, [*across, Rule(175, 5, 365), Rule(155, 5, 365)], [*down, Rule(5, 75, 175), Rule(365, 75, 175)]
    )
    assert head[0][1:] == ("Standard Unit", "Standard Fixed", "Economy Day", "Economy Night", "Economy Fixed")


def test_a_long_text_above_a_table_is_no_head_of_its_columns() -> None:
    lines = [
        written(200, (70, "Estimates of what is left of the harvest of 2012 in all districts")),
        *(
            written(180 - 15 * row, (10, "Reeds"), (60, f"{row}1.5"), (200, f"{row}7.5"), (390, "3"))
            for row in range(4)
        ),
    ]
    assert rows_in(lines, [], [])[0] == ("Reeds", "01.5", "07.5", "3")


def test_the_lines_of_a_chinese_cell_are_joined_without_a_space() -> None:
    lines = [
        written(180, (10, "Year"), (110, "Agency")),
        written(160, (110, "联合资信评估")),
        written(154, (10, "2020")),
        written(148, (110, "有限公司 AA")),
    ]
    assert rows_in(lines, *frame(5, 300, (195, 175, 140), (5, 105, 300)))[1] == ("2020", "联合资信评估有限公司 AA")
