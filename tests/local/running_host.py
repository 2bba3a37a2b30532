"""Starts the local host as a process of its own, for tests that talk to it over real sockets."""

import asyncio
import os
import re
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from bench.processes import DEPLOYED
from tests.local.fork_server import INHERITED, REPOSITORY, ForkedProcess, ForkServer

EXTENSION = "shared.web.http_extension"
"""The web extension that the app uses: a process has one, so that an app with another starts from nothing."""
READ_AT_IMPORT = ("AGENT_FRAMEWORK_", "OTEL_PROPAGATORS", "OTEL_PYTHON_", "PYTHON", "SSL_CERT_")
"""How settings begin that the interpreter, its libraries or OpenTelemetry's read while they are imported."""
HOSTS = ForkServer(
    DEPLOYED,
    modules=(
        # What serves and triggers.
        "azure.functions.decorators",
        "azurefunctions.extensions.base",
        "local.host",
        "local.queue_trigger",
        "local.timer_trigger",
        "uvicorn.protocols.http.auto",
        # Libraries of many hosts. What uses `agent_framework` is not here: it sets its meters once for all.
        "agent_framework_orchestrations",
        "anyio._backends._asyncio",
        "azure.storage.blob.aio",
        "jwt.algorithms",
        "openai",
        # Parts that settings choose.
        "shared.app",
        "shared.chat_models.extractive.model",
        "shared.chat_models.openai_chat",
        "shared.documents.file_store",
        "shared.history.sqlite_history",
        "shared.outbound.openai_service.sender",
        "shared.reading.readers",
        "shared.retrieval.sqlite.retriever",
        "shared.runs.following",
        "shared.runs.in_process",
        "shared.runs.registry",
        "shared.runtime.core_yaml",
        "shared.tools.tool_servers",
        "shared.verdicts.sqlite_verdicts",
        EXTENSION,
        # Handlers and protocols.
        "shared.triggers.about",
        "shared.triggers.activities",
        "shared.triggers.approvals",
        "shared.triggers.chat",
        "shared.triggers.chat_requests",
        "shared.triggers.companion",
        "shared.triggers.content",
        "shared.triggers.content_events",
        "shared.triggers.demo_page",
        "shared.triggers.documents",
        "shared.triggers.feedback",
        "shared.triggers.kept_responses",
        "shared.triggers.mcp_messages",
        "shared.triggers.other_paths",
        "shared.triggers.own_documents",
        "shared.triggers.runs",
        "shared.triggers.warm_up",
        "shared.wire.activity",
        "shared.wire.ag_ui",
        "shared.wire.ai_sdk",
        "shared.wire.azure_openai",
        "shared.wire.openai_responses",
    ),
)
type Process = ForkedProcess | subprocess.Popen[bytes]
START_SECONDS = 60
STOP_SECONDS = 60
_READY = re.compile(r"Switchboard is ready: (http://127\.0\.0\.1:\d+\S*)")


class RunningHost:
    """A host process and everything that it has printed so far.

    Args:
        app: the directory of `function_app.py`.
        env: the app's settings; nothing but a few basics is inherited from the tests' own environment.
        arguments: more for the command line.
        python: the Python that runs it; by default one that has the packages that are deployed, and no others.
    """

    run = ("-m", "local")
    """What Python runs."""

    def __init__(self, app: Path, env: Mapping[str, str], arguments: tuple[str, ...], python: Path = DEPLOYED) -> None:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self.process, self._output = _start((python, *self.run, "--app", app, *arguments), inherited | dict(env))
        self._printed = bytearray()
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def url(self) -> str:
        """The app's address with the route prefix."""
        ready = _READY.search(self.log())
        assert ready, self.log()
        return ready[1]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.split(":")[2].split("/")[0])

    def log(self) -> str:
        """What it has printed so far, both streams. What belongs to an answer may come after it: `wait_for` that."""
        with self._changed:
            return self._printed.decode()

    def wait_for(self, pattern: str, seconds: float = START_SECONDS, *, after: str = "") -> str:
        """Wait until a regular expression is found in the log; return what matched. Blocks: `to_thread` it.

        Args:
            pattern: the regular expression.
            seconds: how long to wait.
            after: a `log()` of before, which is not searched.
        """

        def search() -> re.Match[str] | None:
            return re.search(pattern, self._printed.decode()[len(after) :])

        with self._changed:
            self._changed.wait_for(lambda: search() or self._ended, seconds)
            found = search()
        assert found, f"no {pattern!r} in:\n{self.log()}"
        return found[0]

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and return the exit code, once everything that was printed is in the log."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; a host that does not end is killed and fails the test."""
        try:
            code = self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            self._output.close()
        return code

    def _read(self) -> None:
        for line in self._output:
            with self._changed:
                self._printed += line
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def _start(command: tuple[str | Path, ...], env: dict[str, str]) -> tuple[Process, BinaryIO]:
    """Fork an app where its Python and extension are the fork server's, and no library reads its settings at import."""
    is_forked = command[:4] == (DEPLOYED, "-m", "local", "--app") and EXTENSION in _functions(Path(command[4]))
    if is_forked and not any(name.startswith(READ_AT_IMPORT) for name in env):
        return HOSTS.start(*command[2:], env=env)
    process = subprocess.Popen(command, cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout
    return process, cast("BinaryIO", process.stdout)


def _functions(app: Path) -> str:
    file = app / "function_app.py"
    return file.read_text("utf-8") if file.exists() else ""


@contextmanager
def running_host(
    app: Path = REPOSITORY, env: Mapping[str, str] | None = None, *arguments: str, python: Path = DEPLOYED
) -> Generator[RunningHost]:
    """Run a host on a free port, wait until it is ready, and stop it; it must then end with exit code 0."""
    host = RunningHost(app, env or {}, ("--port", "0", *arguments), python)
    try:
        host.wait_for(_READY.pattern)
        yield host
    finally:
        code = host.stop()
    assert code == 0, host.log()


@asynccontextmanager
async def host_beside(
    app: Path = REPOSITORY, env: Mapping[str, str] | None = None, python: Path = DEPLOYED
) -> AsyncGenerator[RunningHost]:
    """The same for who must not be held up meanwhile: stand-ins on this loop, which answer it."""
    context = running_host(app, env, python=python)
    host = await asyncio.to_thread(context.__enter__)
    try:
        yield host
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


def refused_host(app: Path = REPOSITORY, env: Mapping[str, str] | None = None, *arguments: str) -> tuple[int, str]:
    """Run a host that is expected not to start; return its exit code and what it printed."""
    host = RunningHost(app, env or {}, arguments or ("--port", "0"))
    code = host.wait()
    return code, host.log()
