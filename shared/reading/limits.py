"""What a file may hold, and what reading it may take: files that callers send less than documents to be indexed.

Readers check these limits before the work that they bound, or while it is done: a small file can hold a lot. The limits
of time and memory hold for whatever these do not foresee.
"""

from dataclasses import dataclass

from shared.reading import UnreadableError

MAX_UPLOAD_PAGES = 500
"""Pages of a PDF that a caller sends."""
MAX_UPLOAD_PDF_CHARACTERS = 1_000_000
"""Characters in a PDF that a caller sends: ten times what a prompt takes, and some 3 seconds of reading."""
MAX_UPLOAD_CHARACTERS = 10 * 1024 * 1024
"""Characters of text in another file that a caller sends: as many as the largest file has bytes."""
MAX_UPLOAD_MARKUP_BYTES = 2 * 1024 * 1024
"""Size of a web page that a caller sends, or of the text in a Word document. Reading it takes 100 times the memory."""
MAX_UPLOAD_TAGS = 250_000
"""Tags and attributes in a file that a caller sends: some 5 seconds of reading."""
MAX_UPLOAD_XML_BYTES = 16 * 1024 * 1024
"""Size of the texts in a presentation or book that a caller sends. Reading them takes 15 times the memory."""
MAX_UPLOAD_XML_TAGS = 1_000_000
"""Tags and attributes in a presentation that a caller sends."""
MAX_UPLOAD_SHEET_BYTES = 64 * 1024 * 1024
"""Bytes of XML that a workbook may unpack to that a caller sends: some 5 seconds of reading."""
MAX_UPLOAD_CELLS = 500_000
"""Cells of tables that a caller sends, empty ones between others included."""
MAX_UPLOAD_PARTS = 2_000
"""Parts of an Office document, book or e-mail that a caller sends, such as texts, pictures and attachments."""
MAX_UPLOAD_READERS = 3
"""Uploaded files that are read at the same time; with their memory they fit an instance of 2 GiB beside the app."""
MAX_CALLER_READERS = 2
"""Files of one caller that are read at the same time, so that no caller takes all readers."""
MAX_UPLOAD_MEMORY_BYTES = 512 * 1024 * 1024
"""Address space of the process that reads an uploaded file."""
MAX_UPLOAD_READ_SECONDS = 10.0
"""Time to read one uploaded file."""
MAX_UPLOAD_WAIT_SECONDS = 10.0
"""Time that an uploaded file waits for a free reader."""
MAX_DOCUMENT_PAGES = 10_000
"""Pages of a PDF to be indexed."""
MAX_DOCUMENT_PDF_CHARACTERS = 20_000_000
"""Characters in a PDF to be indexed: some 10,000 passages."""
MAX_DOCUMENT_CHARACTERS = 20_000_000
"""Characters of text in another document to be indexed."""
MAX_DOCUMENT_MARKUP_BYTES = 100 * 1024 * 1024
"""Bytes of XML that a Word document to be indexed may unpack to."""
MAX_DOCUMENT_TAGS = 2_000_000
"""Tags and attributes in a document to be indexed: each takes some 500 bytes of memory while the document is read."""
MAX_DOCUMENT_XML_BYTES = 64 * 1024 * 1024
"""Size of the texts in a presentation or book to be indexed."""
MAX_DOCUMENT_XML_TAGS = 4_000_000
"""Tags and attributes in a presentation to be indexed."""
MAX_DOCUMENT_SHEET_BYTES = 512 * 1024 * 1024
"""Bytes of XML that a workbook to be indexed may unpack to."""
MAX_DOCUMENT_CELLS = 4_000_000
"""Cells of tables to be indexed, empty ones between others included."""
MAX_DOCUMENT_PARTS = 20_000
"""Parts of an Office document, book or e-mail to be indexed, such as texts, pictures and attachments."""
MAX_DOCUMENT_MEMORY_BYTES = 1536 * 1024 * 1024
"""Address space of the process that reads a document to be indexed."""
MAX_DOCUMENT_READ_SECONDS = 300.0
"""Time to read one document to be indexed, or to render some of its pages."""
MAX_SCANNED_PAGES = 500
"""Scanned pages of a document that are recognized here, without Document Intelligence."""
MAX_SCAN_PIXELS = 60_000_000
"""Pixels of an image to be recognized: an A3 page at 500 dots an inch."""
MAX_SCAN_MEMORY_BYTES = 3 * 1024 * 1024 * 1024
"""Address space of the process that recognizes pages; libraries and models alone take half of it."""
MAX_SCAN_READ_SECONDS = 300.0
"""Time to recognize one page. It takes 2 to 6 seconds on a free core."""

MAX_EMBEDDING_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of the process that makes vectors. The model and its libraries take a third of it."""
MAX_EMBEDDING_SECONDS = 120.0
"""Time to make the vectors of a few texts. A passage takes a quarter of a second of a free core, the longest two."""


class ReadLimitError(UnreadableError):
    """The file holds more than a file may hold, or reading it takes more time or memory than it may take."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may hold."""

    pages: int
    """Pages of a PDF."""
    pdf_characters: int
    """Characters of a PDF, which take longer to read than those of other formats."""
    characters: int
    """Characters of text in any format."""
    markup_bytes: int
    """Bytes of HTML, or of the XML in a Word document."""
    tags: int
    """Tags and attributes in HTML, or in the XML of a Word document."""
    xml_bytes: int
    """Bytes of the XML in a presentation or book."""
    xml_tags: int
    """Tags and attributes in a presentation."""
    sheet_bytes: int
    """Bytes of the XML in a workbook, which is not kept in memory."""
    cells: int
    """Cells of a table or workbook."""
    parts: int
    """Parts of an Office document, book or e-mail."""


UPLOAD_LIMITS = ReadLimits(
    MAX_UPLOAD_PAGES,
    MAX_UPLOAD_PDF_CHARACTERS,
    MAX_UPLOAD_CHARACTERS,
    MAX_UPLOAD_MARKUP_BYTES,
    MAX_UPLOAD_TAGS,
    MAX_UPLOAD_XML_BYTES,
    MAX_UPLOAD_XML_TAGS,
    MAX_UPLOAD_SHEET_BYTES,
    MAX_UPLOAD_CELLS,
    MAX_UPLOAD_PARTS,
)
"""Limits of files that callers send."""
DOCUMENT_LIMITS = ReadLimits(
    MAX_DOCUMENT_PAGES,
    MAX_DOCUMENT_PDF_CHARACTERS,
    MAX_DOCUMENT_CHARACTERS,
    MAX_DOCUMENT_MARKUP_BYTES,
    MAX_DOCUMENT_TAGS,
    MAX_DOCUMENT_XML_BYTES,
    MAX_DOCUMENT_XML_TAGS,
    MAX_DOCUMENT_SHEET_BYTES,
    MAX_DOCUMENT_CELLS,
    MAX_DOCUMENT_PARTS,
)
"""Limits of documents to be indexed."""


def check_limit(count: int, limit: int, what: str) -> None:
    """Check a count of what a file holds.

    Args:
        count: The count.
        limit: Its limit.
        what: What is counted, in the plural.

    Raises:
        ReadLimitError: the count is over the limit.
    """
    if count > limit:
        raise ReadLimitError(f"holds more than {limit:,} {what}; split it.")
