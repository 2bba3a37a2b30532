"""`python -m shared.ingestion DOCS`: index the documents of a folder; with `--sync`, those of the container.

Exit code 0 when all is well, 1 when a file failed (the others are indexed), 2 when the command or the settings are
wrong, 130 when interrupted (what was finished is kept).
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from shared.app import kept_folders, open_target
from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion.folder import Listing, list_folder
from shared.ingestion.ingest import ingest_folder
from shared.ingestion.reports import IngestReport, Outcome
from shared.ingestion.sync import sync_stored
from shared.reading.scans import formats
from shared.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="ingestion", description="Index documents.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("folder", nargs="?", type=Path, metavar="DOCS", help="a folder, with all folders below it")
    source.add_argument("--sync", action="store_true", help="what has changed in the container of documents")
    folder: Path | None = parser.parse_args(arguments).folder
    try:
        settings = Settings.read(os.environ)
        if problem := _problem(folder, settings) if folder else _no_container(settings):
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


def list_documents(folder: Path, settings: Settings) -> Listing:
    """What a folder holds that can be read under these settings."""
    recognized = settings.document_intelligence_endpoint is not None
    return list_folder(folder, kept_folders(settings), formats(recognized=recognized))


def _no_container(settings: Settings) -> str | None:
    if settings.has_container:
        return None
    return (
        "There is no container to follow: set CONTENT_STORAGE__blobServiceUri or CONTENT_STORAGE, or index a folder "
        "with `make index DOCS=folder`."
    )


def _problem(folder: Path, settings: Settings) -> str | None:
    """Why a folder cannot be indexed, before the index is touched: an empty one would empty the index."""
    if not folder.exists():
        return f"There is no folder {folder}."
    if not folder.is_dir():
        return f"{folder} is no folder; name the folder that holds the documents."
    if any(folder.resolve().is_relative_to(own.resolve()) for own in kept_folders(settings)):
        return f"{folder} holds the index's own copies; name the folder that they come from."
    listing = list_documents(folder, settings)
    if not listing.files and not listing.closed_folders:
        return f"{folder} holds no document that can be read; the index is left as it was."
    return None


async def _ingest(folder: Path | None, settings: Settings) -> IngestReport:
    from shared.ingestion.console import ConsoleReporter, summary, write_line

    target = open_target(settings)
    try:
        with ConsoleReporter() as reporter:
            if folder:
                report = await ingest_folder(folder, target, reporter, kept_folders(settings))
            else:
                report = await sync_stored(target, reporter)
    finally:
        await target.aclose()
    write_line(summary(report))
    return report


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
