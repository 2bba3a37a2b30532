"""Where the audit record is kept: files, or append blobs. A new one begins each hour and in each process."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from shared.settings import Settings

if TYPE_CHECKING:
    from azure.storage.blob.aio import ContainerClient

CONTAINER = "switchboard-audit"
"""The container of the blobs, in the app's own storage account."""
FOLDER = "audit"
"""The folder of the files, in `DATA_DIR`."""
_BLOB_IS_FULL = "BlockCountExceedsLimit"


def open_store(settings: Settings) -> "AuditFiles | AuditBlobs":
    """Open the place that the settings name: blobs where the app has a storage account of its own, else files."""
    if not settings.has_own_storage:
        return AuditFiles(settings.data_dir / FOLDER)
    from azure.storage.blob.aio import ContainerClient

    from shared.outbound.azure_service.storage import open_client
    from shared.outbound.azure_service.transport import client_options

    connection = settings.azure_web_jobs_storage
    address = None if connection else settings.azure_web_jobs_storage_blobs
    return AuditBlobs(open_client(ContainerClient, connection, address, CONTAINER, **client_options()))


def _name(process: str) -> str:
    """Return the name of what a process writes in this hour."""
    return f"{datetime.now(UTC):%Y/%m/%d/%H}-{process}.jsonl"


class AuditFiles:
    """An `AuditStore` in a folder, which is made at its first use."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._process = folder, token_hex(4)

    async def append(self, lines: bytes) -> None:
        """See `AuditStore.append`."""
        await asyncio.to_thread(self._write, self.folder / _name(self._process), lines)

    @staticmethod
    def _write(path: Path, lines: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


class AuditBlobs:
    """An `AuditStore` in a container, which is made at its first use."""

    def __init__(self, container: "ContainerClient") -> None:
        self.container, self._process = container, token_hex(4)

    async def append(self, lines: bytes) -> None:
        """See `AuditStore.append`."""
        from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

        from shared.outbound.azure_service.storage import made_when_missing

        blob = self.container.get_blob_client(_name(self._process))
        try:
            await blob.append_block(lines)
        except ResourceNotFoundError:
            await made_when_missing(blob.create_append_blob, self.container.create_container)
            await blob.append_block(lines)
        except HttpResponseError as error:
            if getattr(error, "error_code", None) != _BLOB_IS_FULL:
                raise
            self._process = token_hex(4)
            await self.append(lines)
