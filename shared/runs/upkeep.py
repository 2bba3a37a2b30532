"""Looks after runs: lets each go on that has lost its runner, and deletes old ones."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import NoReturn

from shared.errors import InternalError, SwitchboardError
from shared.runs import ObjectStore, records
from shared.runs.claim import GOING, enter_going, purge, read_state
from shared.runs.registry import Runs

_SWEEP_SECONDS = 15
"""How often a process looks for runs without a runner, outside Azure; there a timer does (`function_app.py`)."""
_TIDY_SECONDS = 60 * 60
"""How often old runs are deleted."""

_log = logging.getLogger("switchboard.run")


async def keep_up(runs: Runs) -> NoReturn:
    """Sweep and tidy now and then."""
    tidied, is_well = -float(_TIDY_SECONDS), True
    while True:
        try:
            await sweep(runs)
            if time.monotonic() - tidied >= _TIDY_SECONDS:
                await tidy(runs.store)
                tidied = time.monotonic()
            is_well = True
        except Exception as error:  # noqa: BLE001 (the next time may do)
            if is_well:
                why = error.message if isinstance(error, SwitchboardError) else type(error).__name__
                _log.warning("runs are not looked after: %s", why)
            is_well = False
        await asyncio.sleep(_SWEEP_SECONDS)


async def sweep(runs: Runs) -> None:
    """Let all runs go on that have begun, or that people have decided about, and that nobody works on.

    One that nobody waits for is thereby looked after as well. It costs a list, and two reads for each run that is going
    elsewhere.

    Raises:
        Unavailable, TooSlow: the store or the engine cannot be used.
    """
    for name in [name async for name in runs.store.names(GOING)]:
        try:
            await runs.look_after(name.rpartition("/")[2])
        except InternalError as error:  # one that cannot be read must not keep the others
            _log.warning("run %s: cannot go on: %s", records.label(name.rpartition("/")[2]), error.message)


async def tidy(store: ObjectStore) -> None:
    """Delete old runs and old objects that belong to none, and enter those for the next sweep that have to go on."""
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
                await _tidy_run(store, run_id, state)
    for name in keys:
        with suppress(InternalError):
            await _tidy_key(store, name)
    # What has no state: a run whose acceptance was cut off, and in which chats runs were.
    if alone := folders.difference(states):
        async for name in store.names(before=time.time() - records.RETENTION_SECONDS):
            if name.partition("/")[0] in alone:
                await store.delete(name)


async def _tidy_key(store: ObjectStore, name: str) -> None:
    if kept := await store.read(name):
        entry = records.decode(kept.data, records.KeyEntry)
        if time.time() - entry.created > records.RETENTION_SECONDS:
            await store.delete(name)


async def _tidy_run(store: ObjectStore, run_id: str, state: records.State) -> None:
    now = time.time()
    if not state.is_readable(now):
        # A runner that has not seen the end yet may write a little more: the next time finds that.
        await purge(store, run_id, state=now - state.beat > records.STALE_SECONDS)
    elif (not state.waits or now > state.waits_until) and await store.read(f"{run_id}/result") is None:
        await enter_going(store, run_id)
