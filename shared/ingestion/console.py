"""An ingestion on the console: a line a file, and a progress bar where someone watches."""

import sys
from contextlib import AbstractContextManager
from types import TracebackType

from tqdm import tqdm

from shared.ingestion.reports import FileReport, IngestReport, Outcome


class ConsoleReporter(AbstractContextManager["ConsoleReporter"]):
    """Writes the lines to standard output; the bar goes to standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._bar = tqdm(unit="file", leave=False, file=sys.stderr, disable=not sys.stderr.isatty())

    def started(self, total: int) -> None:
        """Let the bar know where it ends."""
        self._bar.reset(total)

    def reading(self, name: str) -> None:
        """Name the file beside the bar."""
        self._bar.set_description(printable(name))

    def finished(self, file: FileReport) -> None:
        """Write the file's line."""
        write_line(f"{printable(file.name)}: {_outcome(file)}")
        self._bar.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()


def write_line(line: str) -> None:
    """Write a line to standard output at once, above the bar; what the terminal cannot show is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    tqdm.write(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stdout)
    sys.stdout.flush()


def summary(report: IngestReport) -> str:
    """One line that counts the outcomes, such as `3 indexed, 4 unchanged, 1 failed`."""
    counts = report.counts()
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]) or "no documents"


def printable(name: str) -> str:
    """A file's name without characters that would steer a terminal."""
    return "".join(character if character.isprintable() else ascii(character).strip("'") for character in name)


def _outcome(file: FileReport) -> str:
    if file.outcome is Outcome.INDEXED:
        return f"{file.outcome} {file.detail}"
    return f"{file.outcome}: {file.detail}" if file.detail else file.outcome
