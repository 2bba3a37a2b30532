"""Limits of what a file may contain, lower for files that callers send than for documents to be indexed.

Readers check a limit before the work that it bounds, or during it: a small file can contain a lot. Limits of time and
memory end what these limits do not foresee.
"""

from dataclasses import dataclass

from shared.reading import UnreadableError


class ReadLimitError(UnreadableError):
    """The file contains too much, or reading it takes too much time or memory."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one file may contain."""

    pages: int
    """Pages of a PDF, slides of a presentation."""
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
    """Bytes that the XML in a workbook unpacks to; it is not kept in memory."""
    cells: int
    """Cells of a table or workbook, empty ones between others included."""
    parts: int
    """Parts of an Office document, book or e-mail, such as texts, pictures and attachments."""
    depth: int = 5
    """Files within one another that are read; one that is deeper is named."""


UPLOAD_LIMITS = ReadLimits(
    pages=500,
    pdf_characters=1_000_000,  # ten times what a prompt takes, and some 3 seconds of reading
    characters=10 * 1024 * 1024,  # as many as the largest file has bytes
    markup_bytes=2 * 1024 * 1024,  # reading them takes 100 times the memory
    tags=250_000,  # some 5 seconds of reading
    xml_bytes=16 * 1024 * 1024,  # reading them takes 15 times the memory
    xml_tags=1_000_000,
    sheet_bytes=64 * 1024 * 1024,  # some 5 seconds of reading
    cells=500_000,
    parts=2_000,
)
"""Limits of files that callers send."""
DOCUMENT_LIMITS = ReadLimits(
    pages=10_000,
    pdf_characters=20_000_000,  # some 10,000 passages
    characters=20_000_000,
    markup_bytes=100 * 1024 * 1024,
    tags=2_000_000,  # each takes some 500 bytes of memory while the document is read
    xml_bytes=64 * 1024 * 1024,
    xml_tags=4_000_000,
    sheet_bytes=512 * 1024 * 1024,
    cells=4_000_000,
    parts=20_000,
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
