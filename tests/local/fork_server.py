"""Starts hosts for tests by forking a process that has imported already what every host imports.

The start of Python and these imports are most of what a short test of the hosted app costs. Each host is still a
process of its own, with the packages that are deployed. What reads settings while it is imported is imported there.

`python -m tests.local.fork_server SOCKET` serves until its standard input ends.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from bench.processes import DEPLOYED

PRELOADED = (
    "azure.functions.decorators",
    "azurefunctions.extensions.base",
    "local.host",
    "openai",
    "shared.app",
    "shared.http_extension",
    "shared.triggers.batches",
    "shared.triggers.chat_requests",
    "shared.triggers.content_events",
)
INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")
_REPOSITORY = Path(__file__).resolve().parents[2]
_MOST_BYTES = 1 << 20


class ForkedProcess:
    """A process that the fork server has started; the part of `subprocess.Popen` that tests of hosts use.

    Args:
        arguments: the command line after `python -m`.
        env: the whole environment.
    """

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        reads, writes = os.pipe()
        self.stdout: BinaryIO = os.fdopen(reads, "rb")
        """What it prints, on both streams."""
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_server())
        try:
            socket.send_fds(self._connection, [json.dumps([arguments, dict(env)]).encode() + b"\n"], [writes])
        finally:
            os.close(writes)
        self._told = self._connection.makefile("r")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: It still runs after this many seconds.
        """
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired("a forked host", timeout or 0)
            with self._connection, self._told:
                self.returncode = int(self._told.readline())
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@cache
def _server() -> str:
    """Start the server of this test process; return the path of its socket."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = str(Path(folder.name) / "socket")
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    command = (DEPLOYED, "-m", __name__, path)
    server = subprocess.Popen(command, cwd=_REPOSITORY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.communicate)
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    return path


def serve(path: str) -> None:
    """Fork a process for each connection, and say on it the number of the process, then its exit code."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else each host would copy the memory of what it shares, at its first collection
    running: dict[int, socket.socket] = {}
    woken, wakes = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector, woken, wakes:
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, _wake)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the tests end, and then this
        listener.bind(path)
        listener.listen()
        sys.stdout.buffer.write(b"ready\n")
        sys.stdout.flush()
        for waited in (sys.stdin, woken, listener):
            selector.register(waited, selectors.EVENT_READ)
        while sys.stdin not in (ready := [key.fileobj for key, _ in selector.select()]):
            if woken in ready:
                woken.recv(4096)
                _report_ended(running)
            if listener in ready:
                connection, _ = listener.accept()
                (arguments, env), output = _order(connection)
                if not (number := os.fork()):
                    break
                os.close(output)
                connection.sendall(b"%d\n" % number)
                running[number] = connection
        else:
            return
    for inherited in (connection, *running.values()):
        inherited.close()
    _become(arguments, env, output)


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a signal that is ignored would not be written to the wakeup descriptor."""


def _order(connection: socket.socket) -> tuple[tuple[list[str], dict[str, str]], int]:
    line, (output,), _, _ = socket.recv_fds(connection, _MOST_BYTES, 1)
    while not line.endswith(b"\n"):
        line += connection.recv(_MOST_BYTES)
    return json.loads(line), output


def _report_ended(running: dict[int, socket.socket]) -> None:
    while running:
        number, status = os.waitpid(-1, os.WNOHANG)
        if not number:
            return
        with running.pop(number) as connection, suppress(OSError):  # of tests that have given it up
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(arguments: list[str], env: dict[str, str], output: int) -> None:
    """Be what `python -m` with these arguments would be."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1])
