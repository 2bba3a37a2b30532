"""PDF to pages of text, and pages as images, by PDFium."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from copy import replace
from io import BytesIO
from itertools import chain, groupby, islice, pairwise
from threading import Lock

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw

from shared.reading import UNREADABLE_LETTERS, Page, UnreadableError, pdf_forms, pdf_rules, pdf_tables, plain_text
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.pdf_layout import Line, layout, lines_of
from shared.reading.pdf_words import Word

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
_ANGLES_SAMPLED = 200
"""Number of characters of a page by whose direction the direction of the page is found."""
_NEARLY_ALL = 0.8
"""Share of a page's text in the same direction from which it is the direction of the page."""

_UNREADABLE = 0xFFFD
"""Code of a character of which the file does not say which letter it is."""
_FEW = 0.05
"""Share of such characters up to which a page is read."""
_SMALL = 0.85
"""Height of raised or lowered digits, at most, as a share of that of the character before."""
_SHIFTED = 0.08
"""How much higher, or lower, they are at least, as a share of that height."""

_LABEL = re.compile(
    rb"""(MSIP_Label_[\w-]{36}_(?:Enabled|Name))\b(?:(?: xmlns[^<>]{1,100})?[>=]["']?([^<"']{1,400}))?"""
)
"""A property of a label, with its value in XMP."""
_OBJECT_STREAM = re.compile(rb"/ObjStm\b[^>]{0,500}>>\s{0,9}stream\r?\n")
_MOST_MARKS, _MOST_STREAMS, _STREAM_BYTES = 40, 100, 256 * 1024
"""Properties of labels, streams of objects and bytes of each in which they are looked for, at most."""

type _Place = Callable[[float, float], tuple[float, float]]


def read_pdf(data: bytes, limits: ReadLimits = DOCUMENT_LIMITS) -> list[Page]:
    """Read all pages of a PDF, numbered physically from 1, those without text too."""
    lines: list[list[Line]] = []
    pages: list[Page] = []
    characters = 0
    with _opened(data) as document:
        attached = pdf_forms.read_attachments(document, limits)
        if form := pdf_forms.xfa_form(document, limits):
            return [form, *attached]
        document.init_forms()
        check_limit(len(document), limits.pages, "pages")
        for index in range(len(document)):
            with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
                characters += text_page.count_chars()
                check_limit(characters, limits.pdf_characters, "characters")
                found, left_out = _lines(page, text_page)
                lines.append(found)
                is_blank, typed = raw.FPDFPage_CountObjects(page) == 0, _joined(pdf_forms.typed_onto(page))
                pages.append(Page(typed, index + 1, is_blank=is_blank, left_out=left_out))
    texts = zip(layout(lines), pages, strict=True)
    return [*(replace(page, text=_joined((text, page.text))) for text, page in texts), *attached]


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def times_of_pdf(data: bytes) -> list[str]:
    """Return when a PDF was last changed, and when it was made, as its information dictionary says."""
    with _opened(data) as document:
        return [document.get_metadata_value(key) for key in ("ModDate", "CreationDate")]


def labels_of_pdf(data: bytes) -> list[tuple[str, str]]:
    """Return what the information dictionary, of which PDFium lists no keys, or XMP says of sensitivity labels."""
    stated: dict[str, str] = {}
    for found in islice(chain.from_iterable(map(_LABEL.finditer, (data, *_object_streams(data)))), _MOST_MARKS):
        key = found[1].decode()
        stated[key] = stated.get(key) or (found[2] or b"").decode("utf-8", "replace")
    if not stated:
        return []
    with _opened(data) as document:
        return [(key, document.get_metadata_value(key) or value) for key, value in stated.items()]


def _object_streams(data: bytes) -> Iterator[bytes]:
    """Yield the beginnings of the streams that the objects of a PDF may be packed into."""
    for found in islice(_OBJECT_STREAM.finditer(data), _MOST_STREAMS):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(data[found.end() : found.end() + _STREAM_BYTES], _STREAM_BYTES)


def render_pages(data: bytes, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
    """Render pages of a PDF as JPEG.

    Opening a PDF in memory takes less than a hundredth of the time of rendering one page, so call this for a few pages
    at a time to keep few images in memory.

    Args:
        data: The bytes of the PDF.
        numbers: Page numbers, from 1.

    Returns:
        The number and the JPEG of each page that can be rendered.
    """
    images: list[tuple[int, bytes]] = []
    with _opened(data) as document:
        for number in numbers:
            with suppress(PdfiumError), closing(document[number - 1]) as page:
                images.append((number, _to_jpeg(page)))
    return images


@contextmanager
def _opened(data: bytes) -> Generator[PdfDocument]:
    """Open a PDF, and keep other threads from using PDFium until it is closed.

    Raises UnreadableError if the PDF is protected by a password, or damaged.
    """
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


def _lines(page: PdfPage, text_page: PdfTextPage) -> tuple[list[Line], tuple[str, ...]]:
    """The visible lines of a page, in the order of the file, with a line for each row of a table; and what is not read.

    Fonts may have letters without a meaning: words of such are left out.
    """
    left, bottom, right, top = page.get_mediabox()
    quarters = _quarter_turns(text_page)

    def place(x: float, y: float) -> tuple[float, float]:
        """Where a point is once the text runs from left to right: a page may be shown turned."""
        return ((x - left, y - bottom), (y - bottom, right - x), (right - x, top - y), (top - y, x - left))[quarters]

    words = [_words(run) for run in _runs(text_page)]
    codes = Counter(code == _UNREADABLE for word in chain.from_iterable(words) for _, code in word)
    what: tuple[str, ...] = ()
    if codes[True]:
        words = [[word for word in run if all(code != _UNREADABLE for _, code in word)] for run in words]
        what = (UNREADABLE_LETTERS if codes[True] > _FEW * codes.total() else "single unreadable letters",)
    if codes[True] > codes[False]:
        words = []
    lines = [[_word(text_page, characters, place) for characters in run] for run in words]
    height = right - left if quarters % 2 else top - bottom
    return lines_of(pdf_tables.find_tables(lines, *pdf_rules.ruling_lines(page, place)), height), what


def _quarter_turns(text_page: PdfTextPage) -> int:
    """Quarter turns, against the clock, of nearly all text on a page; 0 if there is no such direction."""
    count = text_page.count_chars()
    turns = Counter(
        -round(raw.FPDFText_GetCharAngle(text_page, index) / (math.pi / 2)) % 4
        for index in range(0, count, max(1, count // _ANGLES_SAMPLED))
        if not chr(raw.FPDFText_GetUnicode(text_page, index)).isspace()
    )
    return next((rotation for rotation, found in turns.items() if found >= _NEARLY_ALL * turns.total()), 0)


def _runs(text_page: PdfTextPage) -> Iterator[list[tuple[int, int]]]:
    """The characters of each line as (index, UTF-16 code unit); a hyphen at the end of a line becomes `-`."""
    run: list[tuple[int, int]] = []
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        if code == _HYPHEN:
            run.append((index, ord("-")))
        elif code == _UNREADABLE or raw.FPDFText_HasUnicodeMapError(text_page, index) == 1:
            run.append((index, _UNREADABLE))
        elif code not in (ord("\r"), ord("\n")):
            if run and chr(code).isdigit() and chr(run[-1][1]).isdigit():
                (_, low, right, high), (left, *_) = (text_page.get_charbox(at) for at in (run[-1][0], index))
                run += [(index, 0)] * (left - right > high - low)  # far apart, and PDFium reports no space
            run.append((index, code))
            continue
        yield run
        run = []
    yield run


def _words(run: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The characters of a line, split at spaces."""
    parted = groupby(run, key=lambda one: not one[1] or chr(one[1]).isspace())
    return [[*word] for is_space, word in parted if not is_space]


def _word(text_page: PdfTextPage, characters: list[tuple[int, int]], place: _Place) -> Word:
    units = chr(characters[0][1]) + "".join(_with_mark(text_page, *pair) for pair in pairwise(characters))
    units = re.sub(r"[\^_](?=\d{4})", "", units)  # so many digits are in a smaller font only
    first, last = (text_page.get_charbox(index, loose=True) for index in (characters[0][0], characters[-1][0]))
    corners = [place(x, y) for box in (first, last) for x, y in (box[:2], box[2:])]
    return Word(
        units.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        min(x for x, _ in corners),
        max(x for x, _ in corners),
        min(y for _, y in corners),
        max(y for _, y in corners),
    )


def _with_mark(text_page: PdfTextPage, before: tuple[int, int], this: tuple[int, int]) -> str:
    """A character; a raised digit is behind `^`, as in 10^6, and a lowered one that follows a digit behind `_`."""
    (place, earlier), (index, code) = before, this
    shown = chr(code)
    if not (shown.isdigit() and chr(earlier).isalnum()):
        return shown
    _, low, _, high = text_page.get_charbox(place, loose=True)
    _, bottom, _, top = text_page.get_charbox(index, loose=True)
    if top - bottom > _SMALL * (high - low):
        return shown
    shift = (bottom - low) / max(high - low, 1)
    return plain_text.shifted(shown, chr(earlier), is_raised=shift > 0) if abs(shift) > _SHIFTED else shown
