"""Reading files: from the bytes of a document, in any format, to the text of its pages.

`readers` has the table of formats, and is used by uploads and by ingestion. `plain_text`, `markup` and `pdf` read one
kind of file each; `document_intelligence` asks Azure to read scanned pages; `chunks` splits text for passages. Readers
are plain functions: bytes and a file suffix go in, pages come out, and nothing stays open, so they can run in a thread
or in another process.
"""

from dataclasses import dataclass
from typing import NamedTuple

UNREADABLE_LETTERS = "pages with unreadable letters"
"""What is left out of pages whose fonts do not say which letters they show: text recognition reads them."""


class Stated(NamedTuple):
    """What a document states of itself."""

    date: str = ""
    """Its day, as `YYYY-MM-DD`; empty: none."""
    sensitivity: str = ""
    """The name of its sensitivity label, or the label's id if it has no name; empty: no label."""


NOTHING_STATED = Stated()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a file. A file in a format without pages is one page."""

    text: str
    """The text, with Markdown for headings, lists and tables."""
    number: int | None = None
    """The physical page number, from 1; None in formats without pages."""
    is_blank: bool = False
    """Whether the page shows nothing: no text, and no picture that may be scanned text."""
    left_out: tuple[str, ...] = ()
    """What of it is not read, such as `hidden slides`. Pages that share a reason are reported together."""
    stated: Stated = NOTHING_STATED
    """What the document states of itself."""


class ReadDocument(NamedTuple):
    """What was read of a document."""

    pages: list[Page]
    """The pages that have text."""
    left_out: str
    """What was not read, such as `hidden slides (3, 5-7)`; empty: nothing that is known."""
    stated: Stated
    """What it states of itself."""


class Chunk(NamedTuple):
    """A piece of a document's text."""

    text: str
    """The text as it is in the document."""
    headings: tuple[str, ...] = ()
    """The headings above it, the highest first; not the heading that it begins with."""
    table_head: str = ""
    """The first rows of the table in the middle of which it begins, in Markdown; empty: it does not."""


class UnreadableError(Exception):
    """The file has no text that can be read, now or later. The message completes the sentence 'the file …'."""


class NoTextError(UnreadableError):
    """The file is valid and holds no text; it may hold scanned pages."""
