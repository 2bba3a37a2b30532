"""Lets time pass for batches."""

import msgspec

from shared.runs import Conflict, ObjectStore
from shared.runs.records import State


async def age(store: ObjectStore, seconds: float = 3600, *, created: bool = False) -> None:
    """Make all batches of a store older: the last heartbeat of their runners, and if wanted the batches."""
    for name in [name async for name in store.names() if name.endswith("/state")]:
        while not await _is_aged(store, name, seconds, created=created):
            pass  # who follows the run has written it meanwhile


async def _is_aged(store: ObjectStore, name: str, seconds: float, *, created: bool) -> bool:
    found = await store.read(name)
    assert found
    state = msgspec.json.decode(found.data, type=State)
    older = msgspec.structs.replace(
        state, beat=state.beat - seconds, created=state.created - (seconds if created else 0)
    )
    try:
        await store.write(name, msgspec.json.encode(older), found.etag)
    except Conflict:
        return False
    return True
