"""Decides which part of a document to send, from the headers of conditional requests and range requests.

Source: RFC 9110, 13 (conditional requests) and 14 (range requests). A request for several ranges gets the whole
document, which the RFC allows. `werkzeug.http` is not used here: it accepts weak tags and later dates in `If-Range`,
ignores `bytes=-0`, and raises on the years of some dates.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto

import msgspec

from shared.documents import StoredDocument

_RANGE = re.compile(r"\s*bytes\s*=\s*(?:([0-9]{1,50})-([0-9]{1,50})?|-([0-9]{1,50}))\s*", re.ASCII | re.IGNORECASE)
_ETAG = re.compile(r'(?:W/)?("[^"]*")')


class Part(msgspec.Struct, frozen=True):
    """A range of a document's bytes."""

    start: int
    """Offset of the first byte."""
    length: int
    """Number of bytes, at least 1."""


class NotPartial(Enum):
    """A response without a part of the document."""

    WHOLE = auto()
    """The whole document."""
    NOT_MODIFIED = auto()
    """304: the caller already has this version."""
    NOT_SATISFIABLE = auto()
    """416: the document has no bytes in the range."""


def select_part(method: str, headers: Mapping[str, str], document: StoredDocument) -> Part | NotPartial:
    """Select what to send: a part of the document, the whole, or an answer without content.

    Args:
        method: `GET` or `HEAD`.
        headers: The request's headers, with names in lower case.
        document: The document's size, ETag and time of the last change.
    """
    if _is_current(headers, document):
        return NotPartial.NOT_MODIFIED
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if method != "GET" or not asked or not _range_counts(headers.get("if-range"), document):
        return NotPartial.WHOLE
    first, last, suffix = asked.groups()
    if suffix:
        start, end = max(0, document.size - int(suffix)), document.size
    else:
        start, end = int(first), min(int(last) + 1 if last else document.size, document.size)
        if last and int(last) < start:
            return NotPartial.WHOLE  # not a valid range: ignore it
    return Part(start, end - start) if start < end else NotPartial.NOT_SATISFIABLE


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the caller has the version with this ETag already (`If-None-Match`)."""
    known = headers.get("if-none-match", "")
    return known.strip() == "*" or etag in _ETAG.findall(known)


def _is_current(headers: Mapping[str, str], document: StoredDocument) -> bool:
    if "if-none-match" in headers:
        return is_known(headers, document.etag)
    since = _date(headers.get("if-modified-since"))
    return since is not None and _last_modified(document) <= since


def _range_counts(condition: str | None, document: StoredDocument) -> bool:
    """Whether the document is still the version of which the caller has a part (`If-Range`)."""
    if condition is None:
        return True
    return condition.strip() == document.etag or _date(condition) == _last_modified(document)


def _last_modified(document: StoredDocument) -> datetime:
    """Return the time of the last change in whole seconds, the resolution of HTTP headers."""
    return document.last_modified.replace(microsecond=0)


def _date(header: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(header or "")
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
