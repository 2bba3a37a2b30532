"""What became of each file."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """What was done about a file."""

    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file's outcome."""

    name: str
    """The `sourcefile`, or the path below the folder of what has none."""
    outcome: Outcome
    """What was done."""
    detail: str = ""
    """On `indexed`: the number of passages; on `skipped` and `failed`: why, completing 'the file …'."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """All files' outcomes, in the order in which they were dealt with."""

    files: tuple[FileReport, ...]

    def counts(self) -> Counter[Outcome]:
        """How many files had each outcome."""
        return Counter(file.outcome for file in self.files)


class Reporter(Protocol):
    """Follows an ingestion while it runs."""

    def started(self, total: int) -> None:
        """So many reports will come."""
        ...

    def reading(self, name: str) -> None:
        """This file is next."""
        ...

    def finished(self, file: FileReport) -> None:
        """A file is dealt with."""
        ...
