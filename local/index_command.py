"""Index documents, with the settings of the app on this machine: `python -m local.index_command`.

With `DOCS` it indexes a folder, and with `--sync` what has changed in the container of documents; it also finishes the
uploads and deletions that have broken off. With `--first DOCS` it indexes the folder
only if the built-in index lacks some of its documents and holds no others: so `make run` brings the samples to a fresh
checkout, continues what was interrupted, and leaves an index of your own alone.

Exit codes: 0 if all went well; 3 if documents failed and others are indexed, which `make` takes for success; 1 if all
failed, or the index cannot be used; 2 if the command or the settings are wrong; 130 if interrupted (finished documents
stay indexed).
"""

import argparse
import asyncio
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing, suppress
from copy import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType

from tqdm import tqdm

from local import HostError
from local.folder import ClosedFolder, FoundFile, list_folder
from local.folder.ingest import ingest_folder
from local.settings_of_commands import read_settings
from shared.errors import NotConfigured, SwitchboardError
from shared.ingestion import FileReport, Outcome
from shared.ingestion.ingest import sync_stored
from shared.parts import kept_folders, open_index, open_target
from shared.reading.readers import readable_suffixes
from shared.retrieval import Embedder
from shared.settings import Settings, misspelt

_NO_CONTAINER = (
    "There is no container to follow, and no change of a document has broken off. To follow a container, set "
    "CONTENT_STORAGE__blobServiceUri or CONTENT_STORAGE; to index a folder, use `make index DOCS=folder`."
)

_NOT_ALONE = "Another `make index` works on this index at the moment. Wait for its end: both would be in it."
_BAR = "{desc}{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} files{postfix}, {remaining} left"
_SECONDS_BETWEEN_LINES = 60
_SHORT_RUN, _MOST_REPEATED = 20, 100
"""Files whose lines still stand on the screen at the end, and lines that are written again there after more files."""


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.index_command", description="Indexes documents.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("folder", nargs="?", type=_folder, metavar="DOCS", help="a folder, with all folders below it")
    source.add_argument("--first", type=_folder, metavar="DOCS", help="the same, if not all and no others are indexed")
    source.add_argument("--sync", action="store_true", help="what has changed in the container, or broken off")
    arguments = parser.parse_args()
    try:
        settings = read_settings()
    except HostError as wrong:
        return _fail(str(wrong), 2)
    except NotConfigured as wrong:
        # After `--first` the app reports a wrong value; a misspelt name stops `make run`.
        is_reported = arguments.first and not any(misspelt(os.environ))
        return 0 if is_reported else _fail(wrong.message, 2)
    try:
        if arguments.sync:
            return asyncio.run(_ingest(None, settings))
        with ExitStack() as held:
            alone = partial(_is_alone, settings, held)
            if arguments.first:
                return _index_first(arguments.first, settings) if alone() else 0
            return _index(arguments.folder, _list(arguments.folder, settings), settings, alone)
    except NotConfigured as wrong:
        return _fail(wrong.message, 2)
    except SwitchboardError as fault:
        return _fail(fault.message, 1)
    except KeyboardInterrupt:
        return _fail("Interrupted. What was finished is kept; run it again to go on.", 130)
    except BrokenPipeError:  # the reader of the output is gone; let Python flush the rest into nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _is_alone(settings: Settings, held: ExitStack) -> bool:
    """Whether no other process indexes a folder here; as long as `held` is open, none begins to."""
    with suppress(OSError):  # a folder that may only be read is told where the index is opened
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        lock = held.enter_context((settings.data_dir / "indexing.lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _folder(given: str) -> Path:
    """The folder of `DOCS`: some shells leave a `~` in it. An empty name would be the folder of the app itself."""
    if not given.strip():
        raise argparse.ArgumentTypeError("DOCS is empty; use `make index DOCS=folder`, for the samples DOCS=samples")
    return Path(given).expanduser()


class _Console(AbstractContextManager["_Console"]):
    """A `Reporter` that writes a line for each document, and tells how far the work is and how long it will take.

    If standard error is a terminal, a bar shows it all the time; if not, it gets a line a minute.
    """

    def __init__(self) -> None:
        self._bar = tqdm(leave=False, file=sys.stderr, disable=not sys.stderr.isatty(), bar_format=_BAR)
        self._total = self._files = self._passages = self._embedded = 0
        self._to_repeat = list[str]()
        self._start = self._told = time.monotonic()

    def started(self, total: int) -> None:
        """Set the number of documents."""
        self._total = total
        self._bar.reset(total)

    def reading(self, name: str) -> None:
        """Show the document's name beside the bar."""
        self._bar.set_description(_printable(name))

    def finished(self, file: FileReport) -> None:
        """Write the document's line."""
        line = f"{_printable(file.name)}: {_described(file)}"
        _write_line(line)
        if file.outcome is Outcome.FAILED or file.left_out:
            self._to_repeat.append(line)
        self._files += 1
        self._passages += file.passages
        now = time.monotonic()
        seconds = now - self._start
        speed = f"{self._passages / max(seconds, 0.001):,.0f} passages a second"
        self._bar.set_postfix_str(speed, refresh=False)
        self._bar.update()
        if self._bar.disable and now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            left = tqdm.format_interval(seconds / self._files * (self._total - self._files))
            sys.stderr.write(f"{self._files:,} of {self._total:,} files, {speed}, {left} left\n")
            sys.stderr.flush()

    def repeat(self) -> None:
        """Write the lines of files that failed or lost something once more, at the end of a long run."""
        if self._files <= _SHORT_RUN or not self._to_repeat:
            return
        _write_line(f"Failed, or not read whole ({len(self._to_repeat):,}):")
        for line in self._to_repeat[:_MOST_REPEATED]:
            _write_line(f"  {line}")

    def embedded(self, passages: int) -> None:
        """Count the passages that have vectors beside the bar: those of a long document take minutes."""
        self._embedded += passages
        self._bar.set_postfix_str(f"{self._embedded:,} passages have vectors")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()


class _Counted:
    """An `Embedder` that tells how many passages it has embedded.

    Args:
        embedder: Makes the vectors.
        tell: Takes the number of passages, after each call.
    """

    def __init__(self, embedder: Embedder, tell: Callable[[int], None]) -> None:
        self._embedder = embedder
        self._tell = tell
        self.model, self.part_size = embedder.model, embedder.part_size
        self.aclose = embedder.aclose

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """See `Embedder.embed`."""
        vectors = await self._embedder.embed(texts, questions=questions)
        self._tell(len(vectors))
        return vectors


def _index_first(folder: Path, settings: Settings) -> int:
    """Index a folder if the built-in index lacks some of its documents and holds no others."""
    if settings.azure_search_endpoint or settings.has_container:
        return 0  # others use this index or this container, too: it gets no samples
    listing = [*_list(folder, settings)]
    names = {found.sourcefile for found in listing if isinstance(found, FoundFile)}
    return _index(folder, iter(listing), settings) if asyncio.run(_holds_a_part(names, settings)) else 0


def _index(
    folder: Path,
    listing: Iterator[FoundFile | FileReport],
    settings: Settings,
    alone: Callable[[], bool] = lambda: True,
) -> int:
    if problem := _problem(folder, settings):
        return _fail(problem, 2)
    before: list[FoundFile | FileReport] = []
    for found in listing:
        before.append(found)
        if isinstance(found, FoundFile | ClosedFolder):
            return asyncio.run(_ingest(chain(before, listing), settings)) if alone() else _fail(_NOT_ALONE, 1)
    return _fail(f"{folder} holds no document that can be read; the index is left as it was.", 2)  # else it was emptied


def _list(folder: Path, settings: Settings) -> Iterator[FoundFile | FileReport]:
    recognized = settings.document_intelligence_endpoint is not None or settings.ocr == "local"
    return list_folder(folder, kept_folders(settings), readable_suffixes(recognized=recognized))


def _problem(folder: Path, settings: Settings) -> str | None:
    """Why a folder cannot be indexed."""
    if not folder.exists():
        return f"There is no folder {folder}."
    if not folder.is_dir():
        return f"{folder} is no folder; name the folder that holds the documents."
    if any(folder.resolve().is_relative_to(own.resolve()) for own in kept_folders(settings)):
        return f"{folder} holds the index's own copies; name the folder that they come from."
    return None


async def _holds_a_part(names: set[str], settings: Settings) -> bool:
    """Whether the index holds documents of these names, or none, but not all, and no others."""
    lacking = names.copy()
    async with aclosing(open_index(settings)) as index, aclosing(index.fingerprints()) as known:
        async for name, _ in known:
            if name not in names:
                return False
            lacking.discard(name)
    return bool(lacking)


async def _ingest(listing: Iterable[FoundFile | FileReport] | None, settings: Settings) -> int:
    """Ingest a folder, or the store if there is no listing; print the outcomes and return the exit code."""
    target = open_target(settings)
    try:
        with _Console() as console:
            if target.embedder:
                target = replace(target, embedder=_Counted(target.embedder, console.embedded))
            if listing:
                report = await ingest_folder(listing, target, console)
            else:
                report = await sync_stored(target, console)
            console.repeat()
    finally:
        await target.aclose()
    _write_line(report.summary() if report.counts or settings.has_container or listing else _NO_CONTAINER)
    if not report.counts[Outcome.FAILED]:
        return 0
    return 3 if report.counts[Outcome.INDEXED] or report.counts[Outcome.UNCHANGED] else 1


def _write_line(line: str) -> None:
    """Write a line above the bar, at once. Characters that the terminal cannot show are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    tqdm.write(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stdout)
    sys.stdout.flush()


def _printable(name: str) -> str:
    """The name of a file, with control characters escaped, which could change how a terminal behaves."""
    return "".join(character if character.isprintable() else ascii(character).strip("'") for character in name)


def _described(file: FileReport) -> str:
    if file.outcome is Outcome.INDEXED:
        return f"{file.outcome} {file.detail}"
    return f"{file.outcome}: {file.detail}" if file.detail else file.outcome


def _fail(sentence: str, code: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
