"""Loads modules and opens parts before the first request needs them: as soon as the worker serves HTTP.

Azure's warm-up trigger comes only with scaling out, on some plans, and the host needs a second or two until it sends
the first request. A request that comes sooner shares what is loaded, and waits for what it needs itself.

Only the parts that the settings select are loaded. A failure ends the warm-up with a log entry; the request that needs
the part fails with the same error, and its status goes to the caller.
"""

import asyncio
import logging
import struct
import sys
import time
from functools import partial
from importlib import import_module
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import NoReturn

from shared import app
from shared.errors import SwitchboardError
from shared.runtime.late_imports import run_import
from shared.service import Service
from shared.triggers import content_events, door
from shared.web.public_url import lacks_url
from shared.wire.protocol import Protocol
from shared.wire.table import PROTOCOLS

_log = logging.getLogger("switchboard.start")

_POLITE_ROUNDS = 50
_ROUND_SECONDS = 0.1

_warming: asyncio.Task[bool] | None = None
_deleting: asyncio.Task[NoReturn] | None = None


def warm_up() -> asyncio.Task[bool]:
    """Start to warm up in the background, once per process, or again if it failed; the result says if it succeeded."""
    global _warming  # noqa: PLW0603 (the loop keeps only a weak reference to a task)
    if _warming is None or (_warming.done() and not _warming.result()):
        _warming = asyncio.create_task(_warm_up())
    return _warming


async def _warm_up() -> bool:
    """Build the service, open its parts, and import the modules that are otherwise imported at the first request."""
    started = time.monotonic()
    try:
        service = await app.get_service()
        if lacks_url(service.settings.public_url):
            _log.warning("Links in answers lead to the worker itself: set PUBLIC_URL to the address of this app.")
        _delete_what_is_old(service)
        for step in (
            service.load,
            app.get_runs,
            content_events.finish_changes,
            partial(run_import, list[Protocol], PROTOCOLS.values()),
            partial(run_import, import_module, "shared.triggers.mcp_messages"),
            service.check,
        ):
            await _let_requests_go_first()
            await step()
    except SwitchboardError as error:
        _log.warning("not warmed up: %s", error.message)
    except Exception as error:  # noqa: BLE001 (the request that needs the part reports the same failure)
        _log.warning("not warmed up: %s", type(error).__name__)
    else:
        _log.info("warmed up in %.0f ms", (time.monotonic() - started) * 1000)
        if count := await asyncio.to_thread(compiled_each_time, "shared"):
            _log.warning("%d modules of the app are compiled at each start: see docs/deploy.md, Byte code", count)
        return True
    return False


async def _let_requests_go_first() -> None:
    """Wait while requests wait for their answers, for some seconds: what they import comes before the rest."""
    for _ in range(_POLITE_ROUNDS):
        if not door.unanswered:
            return
        await asyncio.sleep(_ROUND_SECONDS)


def _delete_what_is_old(service: Service) -> None:
    """Delete what people left here longer ago than the settings say, from now on, as long as the process lives."""
    global _deleting  # noqa: PLW0603 (the loop keeps only a weak reference to a task)
    settings = service.settings
    uploads_days = settings.user_uploads_days if settings.takes_uploads else 0
    chats_days = settings.history_days if service.verdicts else 0
    if _deleting is None and (uploads_days or chats_days):
        from shared.ingestion.retention import Deletion, delete_documents, delete_from_now_on

        deletions: list[tuple[int, Deletion]] = []
        if uploads_days:
            deletions.append((uploads_days, partial(delete_documents, service.documents, app.get_target)))
        if chats_days and service.verdicts:
            deletions += [(chats_days, service.history.delete_older), (chats_days, service.verdicts.delete_older)]
        _deleting = asyncio.create_task(delete_from_now_on(deletions))


def compiled_each_time(package: str) -> int:
    """Return how many loaded modules of a package have no byte code on the disk that is of their source as it is now.

    Python writes it where it may. Where it may not, in a folder that is read-only, it compiles them at each start.
    """
    loaded = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    return sum(not _has_byte_code(Path(module.__file__)) for module in loaded if module.__file__)


def _has_byte_code(source: Path) -> bool:
    try:
        with Path(cache_from_source(source)).open("rb") as file:
            magic, flags, modified, size = struct.unpack("<4sIII", file.read(16))
    except (OSError, struct.error):
        return False
    now = source.stat()
    is_of_source = bool(flags) or (modified, size) == (int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF)
    return magic == MAGIC_NUMBER and is_of_source
