"""What was lost between a file and its text is told; a file that was read whole is not spoken of."""

from copy import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from shared.reading import Page
from shared.reading.after_reading import losses
from shared.reading.readers import left_out_of, read_all_pages
from tests.reading.test_all_is_told import FILES, MADE, sheets
from tests.reading.test_shown import docx, p, r

IN = {
    "word": {"euros": "the text", "below": "footnotes", "pays": "comments", "Office": "headers"},
    "slides": {"plan": "the text", "slowly": "notes", "Boats": "chart"},
    "sheets": {"oar": "the text", "Ask": "comments", "Euros": "chart", "box": "drawing"},
    "open text": {"Below": "the text", "pays": "the text", "Oar": "the text"},
    "page": {"North": "the text"},
    "book": {"nine": "the text"},
    "rich text": {"euros": "the text", "note": "the text"},
}
"""Words of files, and what they are of."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # mkepub keeps a folder open
@pytest.mark.parametrize("kind", IN)
def test_each_word_that_is_missing_is_counted_where_it_was(kind: str) -> None:
    make, suffix = MADE[kind]
    data = make()
    pages = read_all_pages(data, suffix)
    assert losses(data, suffix, pages) == ()
    for word, of in IN[kind].items():
        without = [replace(page, text=page.text.replace(word, "")) for page in pages]
        assert losses(data, suffix, without) == (f"1 word of {of}",)


def test_a_word_that_is_missing_in_markdown_is_counted() -> None:
    text = b"---\ntitle: x\n---\n# Fees\n\nThe **fee** is 417.<!-- Nobody sees this. -->\n"
    assert losses(text, ".md", [Page("# Fees\n\nThe **fee** is 417.")]) == ()
    assert losses(text, ".md", [Page("# Fees\n\nThe is 417.")]) == ("1 word of the text",)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_said_to_be_lost_of_files_that_are_read_whole(path: Path) -> None:
    assert "word" not in left_out_of(read_all_pages(path.read_bytes(), path.suffix))


def test_what_a_reader_does_not_know_is_told_with_the_document() -> None:
    unknown = f"<w:newElement>{p('Secret clause')}</w:newElement>"
    pages = read_all_pages(docx(p(r("The fee is 417.")) + unknown), ".docx")
    assert [page.text for page in pages if page.text] == ["The fee is 417."]
    assert left_out_of(pages) == "2 words of the text"


def test_what_slides_draw_as_older_programs_did_is_told() -> None:
    make, suffix = MADE["slides"]
    file = BytesIO(make())
    with ZipFile(file, "a") as parts:
        art = '<v:shape><v:textpath string="Open day"/></v:shape><v:textbox><font>Press</font></v:textbox>'
        parts.writestr("ppt/drawings/vmlDrawing1.vml", f'<xml xmlns:v="urn:schemas-microsoft-com:vml">{art}</xml>')
    assert "3 words of drawings" in left_out_of(read_all_pages(file.getvalue(), suffix))


def test_the_other_version_of_an_email_is_told_for_what_it_has_alone() -> None:
    mail = (
        'From: a@example.com\nSubject: Fees\nContent-Type: multipart/alternative; boundary="b"\n\n'
        "--b\nContent-Type: text/plain\n\nThe fee of the harbour is 417 euros.\n"
        "--b\nContent-Type: text/html\n\n<p>The fee of the harbour is 417 euros.<p>Unsubscribe\n--b--\n"
    )
    assert left_out_of(read_all_pages(mail.encode(), ".eml")) == "1 word of the HTML version"


def test_a_part_that_cannot_be_unpacked_is_told_and_the_rest_is_read() -> None:
    file = BytesIO(sheets())
    with ZipFile(file, "a") as parts:
        parts.writestr("xl/unknown.xml", b"<t>Kim</t>", ZIP_STORED)
    pages = read_all_pages(file.getvalue().replace(b"<t>Kim", b"<t>Tim"), ".xlsx")
    assert "Boat" in pages[0].text
    assert left_out_of(pages) == "what could not be checked"


def test_a_file_with_hidden_slides_is_not_spoken_of_since_it_cannot_be_known() -> None:
    make, suffix = MADE["slides"]
    hidden = Page("", 1, left_out=("hidden slides",))
    assert losses(make(), suffix, [hidden]) == ()


@pytest.mark.parametrize("name", ["nav", "script", "!--"])
def test_elements_that_never_end_take_linear_time(name: str) -> None:
    """Many of them would take minutes if each were looked for to the end of the file."""
    assert losses(f"<{name}>word ".encode() * 30_000, ".html", [Page("word")]) == ()
