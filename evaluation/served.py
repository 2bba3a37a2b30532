"""The app of this folder, served by the local host, with an index of its own where documents are given.

`python -m evaluation.served` is that host as a child process, which ends with its parent however that ends.
"""

import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from evaluation import EvaluationError
from local import HostError
from local.__main__ import main as serve
from local.settings_file import apply_local_settings
from shared.errors import NotConfigured
from shared.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
_READY = re.compile(rb"Switchboard is ready: (http://\S+)")
_STOP_SECONDS = 10
_ONLY_BUILT_IN = (
    "--docs makes an index of its own, which only the built-in search can have, and the settings name {what}. "
    "Index the documents there with `make index`, and leave --docs out; or unset {what}."
)


def read_settings() -> Settings:
    """The settings of the app on this machine.

    Raises:
        EvaluationError: they are wrong.
    """
    try:
        apply_local_settings(ROOT)
        return Settings.read(os.environ)
    except (HostError, NotConfigured) as wrong:
        raise EvaluationError(str(wrong)) from wrong


@asynccontextmanager
async def served(
    settings: Settings, docs: Path | None, data_dir: Path, log: Path
) -> AsyncGenerator[tuple[str, Settings]]:
    """Serve the app until the block ends.

    Args:
        settings: Of the app.
        docs: Documents to index before; None: the index that the settings name.
        data_dir: The absolute path of the folder of that index.
        log: The file for what the app prints.

    Yields:
        The app's URL and its settings.

    Raises:
        EvaluationError: it cannot be served, or a document cannot be indexed.
    """
    environment = dict(os.environ)
    if docs:
        if what := _elsewhere(settings):
            raise EvaluationError(_ONLY_BUILT_IN.format(what=what))
        environment["DATA_DIR"] = str(data_dir)
        settings = settings.model_copy(update={"data_dir": data_dir})
        await _index(docs, environment)
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "evaluation.served", "--port", "0"),
            cwd=ROOT,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C is for the evaluation, which ends it
        )
        copying: asyncio.Task[None] | None = None
        try:
            assert process.stdout  # noqa: S101 (it was asked for)
            url = ""
            while not url and (line := await process.stdout.readline()):
                file.write(line)
                url = found[1].decode() if (found := _READY.search(line)) else ""
            if not url:
                raise EvaluationError(f"The app did not start; {log} says why.")
            copying = asyncio.create_task(_copy(process.stdout, file.write))
            yield url, settings
        finally:
            await _stop(process)
            if copying:
                await copying


def _elsewhere(settings: Settings) -> str:
    """The setting that puts the index or the documents elsewhere; empty: they are in `DATA_DIR`."""
    if settings.azure_search_endpoint:
        return "AZURE_SEARCH_ENDPOINT"
    return "a container of documents (CONTENT_STORAGE)" if settings.has_container else ""


async def _index(docs: Path, environment: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "local.index_command", str(docs)),
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            await _stop(process)
    lines = said.decode(errors="replace").splitlines()
    if process.returncode == 2:
        raise EvaluationError("The documents were not indexed; the line above says why.")
    for line in lines if process.returncode else lines[-1:]:
        print(line, flush=True)


async def _copy(stream: asyncio.StreamReader, write: Callable[[bytes], object]) -> None:
    while piece := await stream.read(65_536):
        write(piece)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _end_with_parent() -> None:
    while os.read(0, 1):  # ends when the parent does; `sys.stdin` would hold a lock that Python waits for at its end
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve()
