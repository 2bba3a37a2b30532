"""Deletes old runs, and lets those go on that an earlier process has not ended."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import NoReturn

from shared.errors import InternalError, SwitchboardError
from shared.runs import Engine, ObjectStore, records
from shared.runs.claim import purge, read_state

_SWEEP_SECONDS = 60 * 60
"""How often old runs are deleted."""

_log = logging.getLogger("switchboard.run")


async def keep_tidy(store: ObjectStore, engine: Engine, *, resume: bool) -> NoReturn:
    """Tidy now and then, and first start runs that have not ended if `resume`."""
    while True:
        try:
            await tidy(store, engine, resume=resume)
        except SwitchboardError as error:
            _log.warning("runs were not tidied: %s", error.message)
        except Exception as error:  # noqa: BLE001 (the next time may do)
            _log.error("runs were not tidied: %s", type(error).__name__)
        await asyncio.sleep(_SWEEP_SECONDS)


async def tidy(store: ObjectStore, engine: Engine, *, resume: bool) -> None:
    """Delete old runs, and old objects that belong to none.

    Args:
        store: Keeps them.
        engine: Starts them.
        resume: Whether to start all runs that have not ended, for an engine that forgets them.
    """
    states, keys, folders = list[str](), list[str](), set[str]()
    async for name in store.names():
        folder, _, part = name.partition("/")
        if folder == "keys":
            keys.append(name)
        elif part == "state":
            states.append(folder)
        else:
            folders.add(folder)
    for run_id in states:
        with suppress(InternalError):  # one that cannot be read must not keep the others
            if state := await read_state(store, run_id):
                await _tidy_run(store, engine, run_id, state, resume=resume)
    for name in keys:
        with suppress(InternalError):
            await _tidy_key(store, name)
    # What has no state: a run whose acceptance was cut off, what a message of the request queue has kept, and in which
    # chats runs were.
    if alone := folders.difference(states):
        async for name in store.names(before=time.time() - records.RETENTION_SECONDS):
            if name.partition("/")[0] in alone:
                await store.delete(name)


async def _tidy_key(store: ObjectStore, name: str) -> None:
    if kept := await store.read(name):
        entry = records.decode(kept.data, records.KeyEntry)
        if time.time() - entry.created > records.RETENTION_SECONDS:
            await store.delete(name)


async def _tidy_run(store: ObjectStore, engine: Engine, run_id: str, state: records.State, *, resume: bool) -> None:
    if not state.is_readable(time.time()):
        # A runner that has not seen the end yet may write a little more: the next sweep finds that.
        await purge(store, run_id, state=time.time() - state.beat > records.STALE_SECONDS)
    elif resume and await store.read(f"{run_id}/result") is None:
        await engine.start(run_id)
