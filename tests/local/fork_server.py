"""Starts processes of ours for tests by forking one that has imported already what each of them would import.

The start of Python and these imports are most of what a short test of the hosted app costs. What is started is still a
process of its own. What reads settings while it is imported is imported there.

`python -m tests.local.fork_server SOCKET MODULE…` serves until its standard input ends.
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
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NamedTuple

INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")
"""What the processes of tests get of the tests' own environment."""
REPOSITORY = Path(__file__).resolve().parents[2]
_MOST_BYTES = 1 << 20
_returned = threading.Event()
"""Set when what a process has been forked for has returned."""


class _Order(NamedTuple):
    arguments: list[str]
    env: dict[str, str]
    folder: str


class ForkedProcess:
    """A process that the server has started; the part of `subprocess.Popen` that our tests use."""

    def __init__(self, server: str, order: _Order, printed: int, complaints: int) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(server)
        socket.send_fds(self._connection, [json.dumps(order).encode() + b"\n"], [printed, complaints])
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
                    raise subprocess.TimeoutExpired("a forked process", timeout or 0)
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


class ForkServer:
    """One for each test process, started when it is first needed.

    Args:
        command: Python, with its options.
        modules: what is imported before anything is started.
    """

    def __init__(self, *command: str | Path, modules: tuple[str, ...]) -> None:
        self._command = command
        self._modules = modules

    def start(self, *arguments: str | Path, env: Mapping[str, str]) -> tuple[ForkedProcess, BinaryIO]:
        """Start what `python -m` with these arguments would be, in this environment and no other.

        Returns:
            The process, and what it prints on both streams.
        """
        reads, writes = os.pipe()
        try:
            return self._forked(arguments, env, REPOSITORY, writes, writes), os.fdopen(reads, "rb")
        finally:
            os.close(writes)

    def run(
        self, *arguments: str | Path, env: Mapping[str, str], folder: Path, seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run that in this folder to its end, and return what it printed."""
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as out,
            tempfile.TemporaryFile("w+", encoding="utf-8") as err,
        ):
            code = self._forked(arguments, env, folder, out.fileno(), err.fileno()).wait(seconds)
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def _forked(
        self, arguments: Sequence[str | Path], env: Mapping[str, str], folder: Path, printed: int, complaints: int
    ) -> ForkedProcess:
        order = _Order([str(argument) for argument in arguments], dict(env), str(folder))
        return ForkedProcess(self._socket, order, printed, complaints)

    @cached_property
    def _socket(self) -> str:
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        path = str(Path(folder.name) / "socket")
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        command = (*self._command, "-m", __name__, path, *self._modules)
        server = subprocess.Popen(command, cwd=REPOSITORY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(server.communicate)
        assert server.stdout
        assert server.stdout.readline() == b"ready\n"
        return path


def serve(path: str, modules: Sequence[str]) -> None:
    """Fork a process for each connection, and say on it the number of the process, then its exit code."""
    atexit.register(_end)  # the first, so that it runs last
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else each process would copy the memory that it shares, at its first collection
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
                order, streams = _read_order(connection)
                if not (number := os.fork()):
                    break
                for stream in streams:
                    os.close(stream)
                connection.sendall(b"%d\n" % number)
                running[number] = connection
        else:
            return
    for inherited in (connection, *running.values()):
        inherited.close()
    _become(order, streams)


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a signal that is ignored would not be written to the wakeup descriptor."""


def _read_order(connection: socket.socket) -> tuple[_Order, list[int]]:
    line, streams, _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
    while not line.endswith(b"\n"):
        line += connection.recv(_MOST_BYTES)
    return _Order(*json.loads(line)), streams


def _report_ended(running: dict[int, socket.socket]) -> None:
    while running:
        number, status = os.waitpid(-1, os.WNOHANG)
        if not number:
            return
        with running.pop(number) as connection, suppress(OSError):  # of tests that have given it up
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(order: _Order, streams: list[int]) -> None:
    """Be what `python -m` with these arguments would be."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order.env)
    os.chdir(order.folder)
    sys.argv = order.arguments
    name = order.arguments[0]
    if not hasattr(sys.modules.get(name), "__path__"):
        sys.modules.pop(name, None)  # what is run is imported anew; a package stays, whose `__main__` is run
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    _returned.set()


def _end() -> None:
    """End a process that has done all its work without taking all modules apart, which copies the memory of each.

    Its threads have ended, and what it has registered for its exit has run. What was left open is reported.
    """
    if not _returned.is_set():
        return
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
