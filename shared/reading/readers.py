"""The formats that can be read: a table from file suffixes to readers.

The library of each reader is imported when the first file of its format comes.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import replace
from functools import partial
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from shared.reading import NOTHING_STATED, UNREADABLE_LETTERS, NoTextError, Page, ReadDocument, Stated, UnreadableError
from shared.reading.limits import DOCUMENT_LIMITS, ReadLimits, check_limit
from shared.reading.markdown import shown_asciidoc, shown_markdown, shown_rst
from shared.reading.plain_text import clean, decode
from shared.reading.sandbox_messages import MARKDOWN
from shared.reading.tables import read_delimited

if TYPE_CHECKING:
    from shared.reading.sandbox import Sandbox

MAX_FILE_BYTES = 100 * 1024 * 1024
"""Size of the largest file that is read: a file and its text are in memory as a whole."""
SCAN_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""Images of text, which only text recognition can read."""
OLD_FORMATS = {
    old: f"is in the format {old}, which cannot be read; save it as {new}."
    for old, new in ((".doc", ".docx"), (".ppt", ".pptx"))
}
"""By the suffix of a format that is not read, what to do with such a file: the end of the sentence 'the file …'."""
PLAIN_FORMATS = (
    *(".adoc", ".json", ".jsonl", ".log", ".rst", ".srt", ".tex", ".vtt", ".xml", ".yaml", ".yml"),
    *(".c", ".cpp", ".cs", ".go", ".java", ".js", ".ps1", ".py", ".rs", ".sh", ".sql", ".ts"),
)
"""Transcripts, data, markup and source code, which are read as the text that they are."""
_SUFFIXES_WITH_PAGES = frozenset({".tif", ".tiff"})
"""Scans with numbered pages. For other images the citation is the image itself."""
_LONGEST_NOTE = 500
"""Characters of the note on what was left out of a document."""
_MAX_CHARACTER_BYTES = 4
"""Bytes of a character of text, at most, in UTF-8 as in other encodings."""
_SETTING = "set OCR=local or DOCUMENT_INTELLIGENCE_ENDPOINT."

type _ReadFormat = Callable[[bytes, str | None, ReadLimits], list[Page]]
"""Reads the bytes of a file, with the encoding that its sender declared, within limits."""


class TextRecognition(Protocol):
    """Reads the text in scanned pages and images."""

    @property
    def model(self) -> str:
        """The name of the recognition model; another model may read the same page differently."""
        ...

    async def read(self, data: bytes, pages: Sequence[int] = ()) -> list[Page]:
        """Read a PDF or an image.

        Args:
            data: The bytes of the file.
            pages: Numbers of the pages to read, from 1; empty: all pages.

        Returns:
            The pages as Markdown, each with its number.

        Raises:
            UnreadableError: the file cannot be read.
            RateLimited, Unavailable, TooSlow: it cannot be read now.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def readable_suffixes(*, recognized: bool) -> tuple[str, ...]:
    """Suffixes of the files that can be read, with or without text recognition."""
    return (*READERS, *SCAN_SUFFIXES) if recognized else (*READERS,)


async def read_document(
    data: bytes, suffix: str, recognition: TextRecognition | None, sandbox: "Sandbox"
) -> ReadDocument:
    """Read a document, with the text of its scanned pages where there is text recognition.

    Args:
        data: The bytes of the file.
        suffix: The suffix of its name, such as `.pdf`, in lower case.
        recognition: Reads scanned pages; None: they count as pages without text.
        sandbox: Reads the file.

    Raises:
        UnreadableError: the file is damaged, protected, too large, or holds no text.
        RateLimited, Unavailable, TooSlow: text recognition or this machine cannot read it now.
    """
    if suffix in SCAN_SUFFIXES:
        return ReadDocument(await _read_image(data, suffix, recognition), "", NOTHING_STATED)
    pages = await sandbox.read(data, suffix)
    stated = pages[0].stated if pages else NOTHING_STATED
    if suffix == ".pdf" and recognition:
        pages = await _with_scans(data, pages, recognition)
    try:
        return ReadDocument(with_text(pages), left_out_of(pages), stated)
    except NoTextError:
        if suffix != ".pdf" or recognition:
            raise
        is_odd = any(UNREADABLE_LETTERS in page.left_out for page in pages)
        what = "no letters that can be read" if is_odd else "no text"
        raise UnreadableError(f"holds {what}; a scan needs text recognition (OCR): {_SETTING}") from None


def read_all_pages(
    data: bytes, suffix: str, charset: str | None = None, limits: ReadLimits = DOCUMENT_LIMITS
) -> list[Page]:
    """Read all pages of a file, with or without text. A hostile file can make it crash or never end: see `sandbox`.

    The readers of single formats raise the same errors. Any other error of theirs means that the file is damaged.

    Args:
        data: The bytes of the file.
        suffix: The suffix of its name, such as `.pdf`, in lower case: a key of `READERS`.
        charset: The encoding that the sender of plain text declared; None if unknown.
        limits: What the file may hold.

    Raises:
        UnreadableError: the file is damaged, protected, empty, too large, or of an old version of its format.
        ReadLimitError: it holds more than it may hold.
        OSError: this machine cannot read it now.
    """
    from shared.reading.after_reading import date_of, label_of, losses

    check_size(len(data))
    try:
        pages = READERS[suffix](data, charset, limits)
    except (UnreadableError, MemoryError):
        raise
    except Exception as fault:  # given odd bytes, a parser may raise anything; other files must still be read
        if isinstance(fault, OSError) and fault.errno is not None:  # an error of the system, not of a parser
            raise
        raise UnreadableError("is damaged, or not of the format that its name says.") from fault
    check_limit(sum(len(page.text) for page in pages), limits.characters, "characters")
    stated = next((page.stated for page in pages if page.stated != NOTHING_STATED), None)
    cleaned = _cleaned(pages, stated or Stated(date_of(data, suffix, limits), label_of(data, suffix, limits)))
    lost = losses(data, suffix, cleaned)
    return [*cleaned, Page("", is_blank=True, left_out=lost)] if lost else cleaned


def check_size(size: int) -> None:
    """Check that a file of `size` bytes can be read; call it before reading the file into memory.

    Raises:
        UnreadableError: the file is empty or too large.
    """
    if not size:
        raise UnreadableError("is empty.")
    if size > MAX_FILE_BYTES:
        raise UnreadableError(f"is larger than {MAX_FILE_BYTES // 2**20} MiB; split it.")


def with_text(pages: Iterable[Page]) -> list[Page]:
    """Keep the pages that have text.

    Raises:
        NoTextError: no page has text.
    """
    found = [page for page in pages if page.text]
    if not found:
        raise NoTextError("holds no text; scans and pictures need text recognition (OCR) first.")
    return found


def _cleaned(pages: Iterable[Page], stated: Stated = NOTHING_STATED) -> list[Page]:
    """Clean the pages' texts, and give them what their document states.

    A text without a letter or a digit becomes empty, so that nobody has to look at it again.
    """
    cleaned = (replace(page, text=clean(page.text), stated=stated) for page in pages)
    return [page if any(map(str.isalnum, page.text)) else replace(page, text="") for page in cleaned]


async def _read_image(data: bytes, suffix: str, recognition: TextRecognition | None) -> list[Page]:
    check_size(len(data))
    if recognition is None:
        raise UnreadableError(f"is an image; its text needs recognition (OCR): {_SETTING}")
    pages = with_text(_cleaned(await recognition.read(data)))
    return pages if suffix in _SUFFIXES_WITH_PAGES else [replace(page, number=None) for page in pages]


async def _with_scans(data: bytes, pages: list[Page], recognition: TextRecognition) -> list[Page]:
    """The pages of a PDF; those that show something and have no text are read by text recognition."""
    unread = [page for page in pages if UNREADABLE_LETTERS in page.left_out or not (page.is_blank or page.text)]
    read = [page for page in pages if page.text and page not in unread]
    scanned = [page.number for page in unread if page.number]
    if not scanned:
        return read
    try:
        recognized = _cleaned(await recognition.read(data, scanned))
    except UnreadableError:
        if any(page.text for page in pages):  # they are worth keeping
            return pages
        raise
    return sorted((*read, *recognized), key=lambda page: (page.number is None, page.number or 0))


def left_out_of(pages: Iterable[Page]) -> str:
    """Say what was not read of a document: what the readers name, and pages that show something and have no text."""
    found: dict[str, list[int]] = {}
    for page in pages:
        is_silent = page.number and not (page.text or page.is_blank or page.left_out)
        for what in ("pages without text",) if is_silent else page.left_out:
            found.setdefault(what, []).extend([page.number] if page.number else [])
    note = ", ".join(f"{what} ({ranges(numbers)})" if numbers else what for what, numbers in found.items())
    return note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]} …"


def ranges(numbers: Iterable[int], between: str = ", ") -> str:
    """Write numbers, which are in ascending order, as ranges such as `3, 5-7`."""
    runs = ([*run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    return between.join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else f"{run[0][1]}" for run in runs)


def _read_text(
    data: bytes, charset: str | None, limits: ReadLimits, shown: Callable[[str], str | Page] = Page
) -> list[Page]:
    check_limit(len(data), _MAX_CHARACTER_BYTES * limits.characters, "bytes of text")
    found = shown(decode(data, charset).replace("\r\n", "\n"))
    return [Page(found) if isinstance(found, str) else found]


def _read_notebook(data: bytes, charset: str | None, limits: ReadLimits) -> list[Page]:
    check_limit(len(data), limits.markup_bytes, "bytes of JSON")
    cells: list[dict[str, Any]] = msgspec.json.decode(decode(data, charset))["cells"]
    left_out = ("results of cells",) if any(cell.get("outputs") for cell in cells) else ()
    return [Page("\n\n".join("".join(cell["source"]) for cell in cells), left_out=left_out)]


def _read_delimited(data: bytes, charset: str | None, limits: ReadLimits, delimiter: str | None = None) -> list[Page]:
    check_limit(len(data), _MAX_CHARACTER_BYTES * limits.characters, "bytes of text")
    return [Page(read_delimited(decode(data, charset), delimiter, limits))]


def _late(module: str, function: str) -> _ReadFormat:
    """Make a reader of a function that takes the bytes and the limits, and returns one text, or pages."""

    def read(data: bytes, _charset: str | None, limits: ReadLimits) -> list[Page]:
        found = getattr(import_module(f"shared.reading.{module}"), function)(data, limits)
        return [Page(found)] if isinstance(found, str) else found

    return read


READERS: dict[str, _ReadFormat] = {
    ".pdf": _late("pdf", "read_pdf"),
    **dict.fromkeys(MARKDOWN, partial(_read_text, shown=shown_markdown)),
    **dict.fromkeys((".html", ".htm"), _late("markup", "read_html")),
    **dict.fromkeys((".txt", *PLAIN_FORMATS), _read_text),
    ".rst": partial(_read_text, shown=shown_rst),
    ".adoc": partial(_read_text, shown=shown_asciidoc),
    **dict.fromkeys((".docx", ".docm"), _late("word", "read_docx")),
    **dict.fromkeys((".pptx", ".pptm"), _late("slides", "read_slides")),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls"), _late("workbooks", "read_workbook")),
    **dict.fromkeys((".odt", ".odp", ".ods"), _late("open_document", "read_open_document")),
    ".ipynb": _read_notebook,
    ".csv": _read_delimited,
    ".tsv": partial(_read_delimited, delimiter="\t"),
    ".epub": _late("markup", "read_epub"),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), _late("mail", "read_mail")),
    ".msg": _late("outlook", "read_outlook"),
    ".rtf": _late("plain_text", "read_rtf"),
}
"""The reader of each file suffix."""
