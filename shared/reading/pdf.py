"""PDF to pages of text, and pages as images, by PDFium."""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import reduce
from io import BytesIO
from threading import Lock

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw

from shared.reading import Page, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.pdf_layout import Line, layout

MAX_IMAGE_SIDE = 1500
"""Pixels of the longer side of a page image: small print is legible, and models scale larger images down."""
MAX_IMAGE_BYTES = 512 * 1024
"""Size of a page image; a larger one is compressed more."""
_JPEG_QUALITIES = (80, 60, 40, 20)
"""Tried in this order until the image is small enough."""
_PDFIUM_LOCK = Lock()
"""PDFium is not thread-safe: one thread uses it at a time."""
_HYPHEN = 2
"""Code that PDFium reports for a hyphen at the end of a line; it reports no line break there."""


def read_pdf(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read all pages of a PDF, numbered physically from 1, those without text too.

    Raises:
        UnreadableError: the PDF is protected by a password, or damaged.
        ReadLimitError: it has more pages or characters than it may have.
    """
    lines: list[list[Line]] = []
    blank: list[bool] = []
    characters = 0
    with _opened(data) as document:
        check_limit(len(document), limits.pages, "pages")
        for index in range(len(document)):
            with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
                characters += text_page.count_chars()
                check_limit(characters, limits.pdf_characters, "characters")
                lines.append(_lines(text_page, page.get_height()))
                blank.append(raw.FPDFPage_CountObjects(page) == 0)
    texts = layout(lines)
    return [Page(text, number, is_blank=blank[number - 1]) for number, text in enumerate(texts, start=1)]


def render_pages(data: bytes, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
    """Render pages of a PDF as JPEG.

    Opening a PDF in memory takes less than a hundredth of the time of rendering one page, so call this for a few pages
    at a time to keep few images in memory.

    Args:
        data: The bytes of the PDF.
        numbers: Page numbers, from 1.

    Returns:
        The number and the JPEG of each page that can be rendered.

    Raises:
        UnreadableError: the PDF is protected by a password, or damaged.
    """
    images: list[tuple[int, bytes]] = []
    with _opened(data) as document:
        for number in numbers:
            with suppress(PdfiumError), closing(document[number - 1]) as page:
                images.append((number, _to_jpeg(page)))
    return images


@contextmanager
def _opened(data: bytes) -> Generator[PdfDocument]:
    """Open a PDF, and keep other threads from using PDFium until it is closed."""
    try:
        with _PDFIUM_LOCK, closing(PdfDocument(data)) as document:
            yield document
    except PdfiumError as fault:
        if fault.err_code == raw.FPDF_ERR_PASSWORD:
            raise UnreadableError("is protected by a password; save it without one.") from fault
        raise UnreadableError("is damaged, or no PDF.") from fault


def _to_jpeg(page: PdfPage) -> bytes:
    with closing(page.render(scale=MAX_IMAGE_SIDE / max(page.get_size()))) as bitmap:
        picture = bitmap.to_pil().convert("RGB")
        file = BytesIO()
        for quality in _JPEG_QUALITIES:
            file.seek(0)
            file.truncate()
            picture.save(file, "JPEG", quality=quality)
            if file.tell() <= MAX_IMAGE_BYTES:
                break
    return file.getvalue()


def _lines(text_page: PdfTextPage, page_height: float) -> list[Line]:
    """The visible lines of a page, in the order of the file."""
    return [line for run in _runs(text_page) if (line := _line(text_page, run, page_height))]


def _runs(text_page: PdfTextPage) -> Iterator[list[tuple[int, int]]]:
    """The characters of each line as (index, UTF-16 code unit); a hyphen at the end of a line becomes `-`."""
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
    """A line with its position on the page; None if it has no visible character."""
    words = [_word(text_page, characters, page_height) for characters in _words(run)]
    if not words:
        return None
    heights: Counter[float] = Counter()
    for word in words:
        heights[round(word.height, 1)] += len(word.text)
    usual = max(words, key=lambda word: heights[round(word.height, 1)])
    return replace(reduce(Line.followed_by, words), bottom=usual.bottom, top=usual.top)


def _words(run: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The characters of a line, split at spaces."""
    words: list[list[tuple[int, int]]] = [[]]
    for index, code in run:
        if code and not chr(code).isspace():
            words[-1].append((index, code))
        elif words[-1]:
            words.append([])
    return words if words[-1] else words[:-1]


def _word(text_page: PdfTextPage, characters: list[tuple[int, int]], page_height: float) -> Line:
    """A word as a line of its own; `_line` joins the words of a line."""
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
