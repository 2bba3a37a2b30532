"""The child's end of a benchmark's process: says where it serves, then does what the parent asks, a line at a time.

The line is the process's standard input, a socket pair's other end: what it prints stays apart from what it answers.
"""

import asyncio
import socket
import sys
import time
from collections.abc import Callable


async def obey(address: str, told: Callable[[list[str]], object] | None = None) -> None:
    """Tell the address and serve the parent until it hangs up.

    Args:
        address: Where this process serves.
        told: Takes the words of each line but `cpu`, which is answered with the seconds that the process has worked.
    """
    parent = socket.socket(fileno=sys.stdin.fileno())
    reader, writer = await asyncio.open_connection(sock=parent)
    writer.write(f"{address}\n".encode())
    while line := await reader.readline():
        words = line.decode().split()
        if words == ["cpu"]:
            writer.write(f"{time.process_time()}\n".encode())
        elif told:
            told(words)
