"""Ingestion: fills a `PassageIndex` from documents that others put into the store; a folder is `local/folder`'s.

`ingest` goes through the store, and `comparison` finds what is to be done; `changes` writes and deletes one document,
in the store and the index; `document` says which names are indexed, and makes a document's entry: chunks of text from
`shared.reading`, made into `passages`, `page_images`, and a fingerprint, which tells what is indexed already.

What works with the index, the store or an embedder raises a SwitchboardError if one of them fails now. The entry of a
document stays as it was, or is marked as unfinished, and the call can be repeated.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """What was done with a document."""

    INDEXED = "indexed"
    QUEUED = "queued"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileReport:
    """The outcome of one document."""

    name: str
    """The `sourcefile`, or the path below the folder for a file that cannot have one."""
    outcome: Outcome
    """What was done."""
    detail: str = ""
    """If indexed: the number of passages, and what was not read. If skipped or failed: why, as the end of the sentence
    'the file …'."""
    passages: int = 0
    """Passages that were written."""
    left_out: str = ""
    """What of it was not read."""


class Reporter(Protocol):
    """Follows an ingestion while it runs."""

    def started(self, total: int) -> None:
        """The work starts; `finished` will be called `total` times."""
        ...

    def reading(self, name: str) -> None:
        """Work on a document starts."""
        ...

    def finished(self, file: FileReport) -> None:
        """A document is done."""
        ...


class Counted:
    """Counts the reports that it passes on."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.counts = Counter[Outcome]()
        """Number of documents by outcome."""

    def finished(self, report: FileReport) -> None:
        """Count a report, and pass it on."""
        self.counts[report.outcome] += 1
        self._reporter.finished(report)

    def summary(self) -> str:
        """One line with the number of documents by outcome, such as `3 indexed, 4 unchanged, 1 failed`."""
        counts = self.counts
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]) or "no documents"
