"""`python -m shared.retrieval.ingestion DOCS`: index the documents of a folder.

Exit code 0 when all is well, 1 when a file failed (the others are indexed), 2 when the command or the settings are
wrong, 130 when interrupted (what was finished is kept).
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from shared.app import kept_folders, open_target
from shared.errors import NotConfigured, SwitchboardError
from shared.retrieval.ingestion.folder import list_folder
from shared.retrieval.ingestion.ingest import ingest_folder
from shared.retrieval.ingestion.reports import IngestReport, Outcome
from shared.retrieval.ingestion.scans import formats
from shared.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="ingestion", description="Index the documents of a folder.")
    parser.add_argument("folder", type=Path, metavar="DOCS", help="the folder, with all folders below it")
    folder: Path = parser.parse_args(arguments).folder
    try:
        settings = Settings.read(os.environ)
        recognized = settings.document_intelligence_endpoint is not None
        if problem := _problem(folder, kept_folders(settings), formats(recognized=recognized)):
            return _complain(problem, 2)
        report = asyncio.run(_ingest(folder, settings))
    except NotConfigured as wrong:
        return _complain(wrong.message, 2)
    except SwitchboardError as fault:
        return _complain(fault.message, 1)
    except KeyboardInterrupt:
        return _complain("Interrupted. What was finished is kept; run it again to go on.", 130)
    except BrokenPipeError:  # whoever read the lines has left; what Python would still flush has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 1 if report.counts()[Outcome.FAILED] else 0


def _problem(folder: Path, kept: Collection[Path], formats: Collection[str]) -> str | None:
    """Why a folder cannot be indexed, before the index is touched: an empty one would empty the index."""
    if not folder.exists():
        return f"There is no folder {folder}."
    if not folder.is_dir():
        return f"{folder} is no folder; name the folder that holds the documents."
    if any(folder.resolve().is_relative_to(own.resolve()) for own in kept):
        return f"{folder} holds the index's own copies; name the folder that they come from."
    listing = list_folder(folder, kept, formats)
    if not listing.files and not listing.closed_folders:
        return f"{folder} holds no document that can be read; the index is left as it was."
    return None


async def _ingest(folder: Path, settings: Settings) -> IngestReport:
    from shared.retrieval.ingestion.console import ConsoleReporter, summary, write_line

    target = open_target(settings)
    try:
        with ConsoleReporter() as reporter:
            report = await ingest_folder(folder, target, reporter, kept_folders(settings))
    finally:
        await target.aclose()
    write_line(summary(report))
    return report


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
