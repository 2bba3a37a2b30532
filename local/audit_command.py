"""Print the audit record, oldest lines first: `python -m local.audit_command [--since 2026-11-27] [--who ID]`.

It reads the place that the settings name. ID is the owner as a line has it, such as `key:nightly-report`.

Exit codes: 0 if there is a line; 1 if there is none; 2 if the command or the settings are wrong.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from local import HostError
from local.settings_of_commands import read_settings
from shared.audit import without_texts as line_without_texts
from shared.audit.stores import AuditBlobs, AuditFiles, open_store
from shared.errors import NotConfigured, SwitchboardError
from shared.settings import Settings

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Hours(Protocol):
    """The files or blobs of the record. Their names begin with their hour, such as `2026/11/27/10-`."""

    async def names(self) -> list[str]:
        """List their names."""
        ...

    async def read(self, name: str) -> bytes:
        """Read one."""
        ...

    async def replace(self, name: str, data: bytes) -> None:
        """Write one anew."""
        ...


class _Files:
    def __init__(self, store: AuditFiles) -> None:
        self._folder = store.folder

    async def names(self) -> list[str]:
        found = await asyncio.to_thread(lambda: [*self._folder.glob("*/*/*/*.jsonl")])
        return sorted(path.relative_to(self._folder).as_posix() for path in found)

    async def read(self, name: str) -> bytes:
        return await asyncio.to_thread((self._folder / name).read_bytes)

    async def replace(self, name: str, data: bytes) -> None:
        def work(path: Path) -> None:
            written = path.with_suffix(".part")
            written.write_bytes(data)
            written.replace(path)

        await asyncio.to_thread(work, self._folder / name)


class _Blobs:
    def __init__(self, store: AuditBlobs) -> None:
        self._container = store.container

    async def names(self) -> list[str]:
        from azure.core.exceptions import ResourceNotFoundError

        try:
            return sorted([name async for name in self._container.list_blob_names()])
        except ResourceNotFoundError:
            return []

    async def read(self, name: str) -> bytes:
        return await (await self._container.download_blob(name)).readall()

    async def replace(self, name: str, data: bytes) -> None:
        """Write a copy first: what breaks off leaves lines twice, and loses none."""
        copy = self._container.get_blob_client(name.removesuffix(".jsonl") + "e.jsonl")
        await copy.create_append_blob()
        for start in range(0, len(data), 1 << 20):
            await copy.append_block(data[start : start + (1 << 20)])
        await self._container.delete_blob(name)


def open_hours(settings: Settings) -> Hours:
    """Open the record that the settings name."""
    store = open_store(settings)
    return _Files(store) if isinstance(store, AuditFiles) else _Blobs(store)


async def lines_since(hours: Hours, since: datetime) -> AsyncGenerator[dict[str, Any]]:
    """Yield the lines since a time, in their order."""
    first, together = f"{since:%Y/%m/%d/%H}", dict[str, list[str]]()
    for name in await hours.names():
        if name[: len(first)] >= first:
            together.setdefault(name[: len(first)], []).append(name)
    for names in together.values():
        lines = [msgspec.json.decode(line) for name in names for line in (await hours.read(name)).splitlines()]
        for line in sorted(lines, key=lambda line: line["time"]):
            if datetime.fromisoformat(line["time"]) >= since:
                yield line


async def without_texts(hours: Hours, owner: str) -> tuple[int, int]:
    """Take out of an owner's lines what the owner has written: texts, and names of own documents.

    Returns:
        Of how many lines it is gone, and how many still have it: those of this hour, to which lines are being added.
    """
    changed, waiting, now = 0, 0, f"{datetime.now(UTC):%Y/%m/%d/%H}"
    for name in await hours.names():
        lines = (await hours.read(name)).splitlines()
        decoded = [msgspec.json.decode(line) for line in lines]
        shorter = {number: line_without_texts(line) for number, line in enumerate(decoded) if line["who"] == owner}
        mine = {number: line for number, line in shorter.items() if line != decoded[number]}
        if name.startswith(now):
            waiting += len(mine)
        elif mine:
            for number, line in mine.items():
                lines[number] = msgspec.json.encode(line)
            await hours.replace(name, b"".join(line + b"\n" for line in lines))
            changed += len(mine)
    return changed, waiting


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.audit_command", description=__doc__)
    parser.add_argument("--since", type=datetime.fromisoformat, default=_EPOCH, help="a day or a time, in UTC")
    parser.add_argument("--who", help="only lines of this owner, such as key:nightly-report")
    values = parser.parse_args()
    try:
        hours = open_hours(read_settings())
        return asyncio.run(_print(hours, values.since.replace(tzinfo=values.since.tzinfo or UTC), values.who))
    except (HostError, NotConfigured, SwitchboardError) as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2


async def _print(hours: Hours, since: datetime, who: str | None) -> int:
    found = False
    async with aclosing(lines_since(hours, since)) as lines:
        async for line in lines:
            if who is None or line["who"] == who:
                found = True
                sys.stdout.write(f"{msgspec.json.encode(line).decode()}\n")
    if not found:
        sys.stderr.write("There is no such line. AUDIT turns the record on.\n")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
