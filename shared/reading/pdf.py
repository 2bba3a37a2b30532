"""PDF to pages of text, by PDFium."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from threading import Lock

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw

from shared.reading.pages import Page, UnreadableError
from shared.reading.pdf_layout import Line, layout

_PDFIUM = Lock()
"""PDFium must not be used by two threads at once."""
_HYPHEN = 2
"""What PDFium reports in place of a hyphen at a line's end, where it leaves out the line break."""


@contextmanager
def opened(path: Path) -> Generator[PdfDocument]:
    """A PDF, for the only thread that uses PDFium then.

    Raises:
        UnreadableError: it is protected by a password, or damaged: also by now, as somebody may write it meanwhile.
    """
    try:
        with _PDFIUM, closing(PdfDocument(path)) as document:
            yield document
    except PdfiumError as fault:
        if fault.err_code == raw.FPDF_ERR_PASSWORD:
            raise UnreadableError("is protected by a password; save it without one.") from fault
        raise UnreadableError("is damaged, or no PDF.") from fault


def read_pdf(path: Path) -> list[Page]:
    """The pages of a PDF, numbered physically from 1.

    Raises:
        UnreadableError: see `opened`.
    """
    with opened(path) as document:
        pages = [_lines(document[index]) for index in range(len(document))]
    return [Page(text, number) for number, text in enumerate(layout(pages), start=1)]


def pages_with_pictures(path: Path) -> list[int]:
    """The numbers of the pages of a PDF that show something, be it text or a scan; not the empty ones.

    Raises:
        UnreadableError: see `opened`.
    """
    with opened(path) as document:
        return [index + 1 for index in range(len(document)) if _shows_something(document[index])]


def _shows_something(page: PdfPage) -> bool:
    with closing(page):
        return raw.FPDFPage_CountObjects(page) > 0


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
    words = [_word(text_page, characters, page_height) for characters in _words(run)]
    if not words:
        return None
    heights: Counter[float] = Counter()
    for word in words:
        heights[round(word.height, 1)] += len(word.text)
    usual = max(words, key=lambda word: heights[round(word.height, 1)])
    return replace(reduce(Line.followed_by, words), bottom=usual.bottom, top=usual.top)


def _words(run: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    words: list[list[tuple[int, int]]] = [[]]
    for index, code in run:
        if code and not chr(code).isspace():
            words[-1].append((index, code))
        elif words[-1]:
            words.append([])
    return words if words[-1] else words[:-1]


def _word(text_page: PdfTextPage, characters: list[tuple[int, int]], page_height: float) -> Line:
    """A line of one word."""
    units = "".join(chr(code) for _, code in characters)
    first, last = (text_page.get_charbox(index, loose=True) for index in (characters[0][0], characters[-1][0]))
    return Line(
        text=units.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        left=first[0],
        right=last[2],
        bottom=min(first[1], last[1]),
        top=max(first[3], last[3]),
        first_word=last[2] - first[0],
        page_height=page_height,
    )
