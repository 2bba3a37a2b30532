"""Our app behind the local host's proxy, as `make run` serves it, in one process."""

import asyncio
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
    ends: list[Callable[[], object]] = []

    def when_asked(end: Callable[[], object] | None) -> None:
        ends[:] = [end] if end else []

    hosting = threading.Thread(target=run, args=(Options(ROOT, port, question=""), when_asked))
    hosting.start()
    while not _accepts(port) and hosting.is_alive():
        time.sleep(0.05)
    asyncio.run(obey(f"http://{LOOPBACK}:{port}"))
    for end in ends:
        end()
    hosting.join()


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listening:
        return int(listening.getsockname()[1])


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port)).close()
    except ConnectionRefusedError:
        return False
    return True


if __name__ == "__main__":
    main()
