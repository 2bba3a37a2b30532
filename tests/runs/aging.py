"""Lets time pass for batches."""

import msgspec

from shared.runs import ObjectStore
from shared.runs.records import State


async def age(store: ObjectStore, seconds: float = 3600, *, created: bool = False) -> None:
    """Make all batches of a store older: the last heartbeat of their runners, and if wanted the batches."""
    for name in [name async for name in store.names() if name.endswith("/state")]:
        found = await store.read(name)
        assert found
        state = msgspec.json.decode(found.data, type=State)
        older = msgspec.structs.replace(
            state, beat=state.beat - seconds, created=state.created - (seconds if created else 0)
        )
        await store.write(name, msgspec.json.encode(older), found.etag)
