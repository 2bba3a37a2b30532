"""PDF to pages of text, by PDFium."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw

from shared.retrieval.ingestion.pages import Page, UnreadableError
from shared.retrieval.ingestion.pdf_layout import Line, layout

_HYPHEN = 2
"""What PDFium reports in place of a hyphen at a line's end, where it leaves out the line break."""


def read_pdf(path: Path) -> list[Page]:
    """The pages of a PDF, numbered physically from 1.

    Raises:
        UnreadableError: it is protected by a password, or damaged.
    """
    try:
        with closing(PdfDocument(path)) as document:
            pages = [_lines(document[index]) for index in range(len(document))]
    except PdfiumError as fault:
        if fault.err_code == raw.FPDF_ERR_PASSWORD:
            raise UnreadableError("is protected by a password; save it without one.") from fault
        raise UnreadableError("is damaged, or no PDF.") from fault
    return [Page(text, number) for number, text in enumerate(layout(pages), start=1)]


def _lines(page: PdfPage) -> list[Line]:
    with closing(page), closing(page.get_textpage()) as text_page:
        height = page.get_height()
        return [line for run in _runs(text_page) if (line := _line(text_page, run, height))]


def _runs(text_page: PdfTextPage) -> Iterator[list[tuple[int, int]]]:
    """The characters of each line as (index, code unit); a hyphen at the end counts as `-`."""
    run: list[tuple[int, int]] = []
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        if code == _HYPHEN:
            run.append((index, ord("-")))
        elif code not in (ord("\r"), ord("\n")):
            run.append((index, code))
            continue
        yield run
        run = []
    yield run


def _line(text_page: PdfTextPage, run: list[tuple[int, int]], page_height: float) -> Line | None:
    """A line with its place on the page, or None if nothing of it can be seen."""
    words = _words(run)
    if not words:
        return None
    boxes = [_box(text_page, word) for word in words]
    first, last = boxes[0], boxes[-1]
    line = Line(
        text=_text(words[0]),
        left=first[0],
        right=first[2],
        bottom=min(first[1], last[1]),
        top=max(first[3], last[3]),
        first_word=first[2] - first[0],
        page_height=page_height,
    )
    for word, box in zip(words[1:], boxes[1:], strict=True):
        line = line.followed_by(_text(word), left=box[0], right=box[2])
    return line


def _words(run: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    words: list[list[tuple[int, int]]] = [[]]
    for index, code in run:
        if code and not chr(code).isspace():
            words[-1].append((index, code))
        elif words[-1]:
            words.append([])
    return words if words[-1] else words[:-1]


def _text(word: list[tuple[int, int]]) -> str:
    return "".join(chr(code) for _, code in word).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _box(text_page: PdfTextPage, word: list[tuple[int, int]]) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of a word."""
    first, last = (text_page.get_charbox(index, loose=True) for index in (word[0][0], word[-1][0]))
    return first[0], min(first[1], last[1]), last[2], max(first[3], last[3])
