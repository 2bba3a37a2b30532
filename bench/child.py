"""The child's end of a benchmark's process: says where it serves, then does what the parent asks, a line at a time.

The line is the process's standard input, a socket pair's other end: what it prints stays apart from what it answers.
"""

import asyncio
import gc
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path


async def obey(address: str, told: Callable[[list[str]], object] | None = None) -> None:
    """Tell the address and serve the parent until it hangs up.

    Args:
        address: Where this process serves.
        told: Takes the words of each line but two: `cpu` is answered with the seconds that the process has worked, and
            `memory` with its resident bytes, their peak, and how many small objects Python holds.
    """
    parent = socket.socket(fileno=sys.stdin.fileno())
    reader, writer = await asyncio.open_connection(sock=parent)
    writer.write(f"{address}\n".encode())
    while line := await reader.readline():
        words = line.decode().split()
        if words == ["cpu"]:
            writer.write(f"{time.process_time()}\n".encode())
        elif words == ["memory"]:
            gc.collect()
            writer.write(f"{_resident('VmRSS')} {_resident('VmHWM')} {sys.getallocatedblocks()}\n".encode())
        elif told:
            told(words)


def _resident(name: str) -> int:
    """Bytes, by Linux's name for them; elsewhere the peak for both."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Not `getrusage`: on Linux its peak begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) * 1024
