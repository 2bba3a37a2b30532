"""Our app behind the local host's proxy, as `make run` serves it, in one process."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable

from bench.child import obey
from bench.processes import ROOT
from local.host import Options, run
from local.worker import LOOPBACK


def main() -> None:
    """Serve until the parent hangs up."""
    port = _free_port()
    ends: list[Callable[[signal.Signals], object]] = []

    def when_asked(end: Callable[[signal.Signals], object] | None) -> None:
        ends[:] = [end] if end else []

    # The host waits for signals too, so the main thread is its.
    threading.Thread(target=_obey, args=(port, ends), daemon=True).start()
    run(Options(ROOT, port, question=""), when_asked)


def _obey(port: int, ends: list[Callable[[signal.Signals], object]]) -> None:
    """Wait until the host accepts, obey the parent, and end the host with it."""
    while not _accepts(port):
        time.sleep(0.05)
    asyncio.run(obey(f"http://{LOOPBACK}:{port}"))
    for end in ends:
        end(signal.SIGINT)


def _free_port() -> int:
    """A port that the system gives to nobody who asks for any: it had a connection that has just ended."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        with socket.create_connection(listening.getsockname()):
            listening.accept()[0].close()  # who closes first keeps the port for a minute
        return int(listening.getsockname()[1])


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port)).close()
    except ConnectionRefusedError:
        return False
    return True


if __name__ == "__main__":
    main()
