"""The processes of a benchmark: the server that is measured has a core of its own where there are two."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DEPLOYED = ROOT / ".tools" / "deployed" / "bin" / "python"
"""Python with the packages that run the app and with no others: `tools/setup.py` makes it for benchmarks and tests."""
_INHERITED = ("HOME", "LANG", "PATH", "TMPDIR")
_START_SECONDS = 60
_STOP_SECONDS = 10

_CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
SERVER_CORE = _CORES[0] if len(_CORES) > 1 else None
"""Where servers are measured, one at a time; None: the machine cannot keep one apart."""
OTHER_CORE = _CORES[-1] if len(_CORES) > 1 else None
"""Where their callers, the model and what runs in the benchmark's own process are."""


class Memory(NamedTuple):
    """What a process holds, after a garbage collection."""

    resident: int
    """Bytes."""
    peak: int
    """The most bytes so far."""
    objects: int
    """Small objects of Python."""


class Child:
    """A process that runs `bench.child.obey`; `running` starts one."""

    def __init__(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.address = address
        """Where it serves."""
        self._reader = reader
        self._writer = writer

    def tell(self, line: str) -> None:
        """Send it a line."""
        self._writer.write(f"{line}\n".encode())

    async def order(self, line: str) -> None:
        """Send it a line, and wait until it has done what that says."""
        self.tell(line)
        await self.cpu_seconds()  # lines are taken one after the other

    async def cpu_seconds(self) -> float:
        """How long all of its threads have worked so far."""
        self.tell("cpu")
        return float(await self._reader.readline())

    async def memory(self) -> Memory:
        """What it holds now."""
        self.tell("memory")
        return Memory(*map(int, (await self._reader.readline()).split()))


@asynccontextmanager
async def running(module: str, env: Mapping[str, str] | None = None, *, core: int | None) -> AsyncGenerator[Child]:
    """Run a module as it is deployed, without packages for development, until the end of the block.

    Args:
        module: Its name; it gets a line to its parent as its standard input.
        env: Its settings; it inherits nothing but a few basics.
        core: The only one that it may use; None: any.
    """
    ours, childs = socket.socketpair()
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(DEPLOYED, "-m", module),
        cwd=ROOT,
        env=inherited | dict(env or {}),
        stdin=childs.fileno(),
        stdout=asyncio.subprocess.DEVNULL,
    )
    childs.close()
    pin(process.pid, core)
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        address = await asyncio.wait_for(reader.readline(), _START_SECONDS)
        if not address:
            raise ChildProcessError(f"{module} ended before it served.")
        yield Child(address.decode().strip(), reader, writer)
    finally:
        writer.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


def pin(process: int, core: int | None) -> None:
    """Keep a process, 0 for this one, on one core; None: wherever it is."""
    if sys.platform == "linux" and core is not None:
        os.sched_setaffinity(process, {core})
