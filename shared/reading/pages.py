"""What a reader makes of a file, or why it makes nothing of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a file; a file of a format without pages is one."""

    text: str
    """Clean text, with Markdown for headings, lists and tables."""
    number: int | None = None
    """The physical page, from 1; None in formats without pages."""


class UnreadableError(Exception):
    """There is no text to be had from this file, now or on the next try; the message completes 'the file …'."""


class NoTextError(UnreadableError):
    """It holds no text; a scan of some may be in it."""
