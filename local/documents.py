"""`python -m local.documents DOCS`: index a folder under the settings that the app runs with on this machine.

With `--first DOCS` only where some of them are missing, no others are in the built-in index, and documents are kept on
this machine: `make run` brings the sample documents to a fresh checkout, finishes what was interrupted, and leaves an
index of your own alone. With `--sync` the index follows the container of documents. Exit codes are those of
`shared.ingestion`.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from local.errors import HostError
from local.rai_service.beside_host import is_wanted
from local.settings_file import apply_local_settings


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.documents", description="Indexes documents.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("folder", nargs="?", metavar="DOCS", help="a folder, with all folders below it")
    source.add_argument("--first", metavar="DOCS", help="the same, if not all and no others are indexed already")
    source.add_argument("--sync", action="store_true", help="what has changed in the container of documents")
    arguments = parser.parse_args()
    try:
        apply_local_settings(Path())
        if is_wanted(os.environ):
            # The service that checks answers is not up yet, and documents need none.
            os.environ["RAI_MODE"] = "off"
    except HostError as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    if arguments.first and not asyncio.run(_is_missing(Path(arguments.first))):
        return 0
    from shared.ingestion.__main__ import main as ingest

    return ingest(["--sync"] if arguments.sync else [arguments.first or arguments.folder])


async def _is_missing(folder: Path) -> bool:
    """Whether the built-in index lacks documents of the folder, and has no others."""
    from shared.app import open_index
    from shared.errors import NotConfigured
    from shared.ingestion.__main__ import list_documents
    from shared.settings import Settings

    try:
        settings = Settings.read(os.environ)
    except NotConfigured:
        return False  # the app will say what is wrong
    if settings.azure_search_endpoint or settings.has_container:
        return False  # what others search and fill too gets no samples
    index = open_index(settings)
    try:
        indexed = await index.fingerprints()
    finally:
        await index.aclose()
    return set(indexed) < {file.sourcefile for file in list_documents(folder, settings).files}


if __name__ == "__main__":
    sys.exit(main())
