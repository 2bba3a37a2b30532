"""Names of documents: which of them can be indexed, and why the others cannot."""

from collections.abc import Collection
from pathlib import PurePosixPath

from shared.documents import is_hidden, is_name
from shared.ingestion import FileReport, Outcome
from shared.reading.readers import OLD_FORMATS

NO_NAME = (
    "has a name that no link can lead to: with a control character such as a line break, a backslash, an empty part, "
    "`.` or `..`, or more than 1,024 characters; rename it."
)
"""Why a name is none of a document."""


def not_indexed(name: str, formats: Collection[str]) -> FileReport | None:
    """Report on a document that is not indexed because of its name; None if it is indexed.

    Args:
        name: Its path.
        formats: Suffixes of the documents that can be read.
    """
    if not is_name(name):
        return FileReport(name, Outcome.FAILED, NO_NAME)
    if is_hidden(name):
        return FileReport(name, Outcome.SKIPPED, "is hidden.")
    if (suffix := PurePosixPath(name).suffix.lower()) not in formats:
        reason = OLD_FORMATS.get(suffix) or f"has no format that can be read ({', '.join(formats)})."
        return FileReport(name, Outcome.SKIPPED, reason)
    return None
